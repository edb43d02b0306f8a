/** The process of the `simherd` command. */
import { run } from './run.ts'

// Whoever reads our output may stop doing so; that is no failure of ours.
process.stdout.on('error', () => undefined)
process.exitCode = await run(process.argv.slice(2))
