/** The process of the `simherd` command. */
import { run } from './run.ts'

// The reader of our output may close it early. That is no failure.
process.stdout.on('error', () => undefined)
process.exitCode = await run(process.argv.slice(2))
