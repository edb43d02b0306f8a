/** The process of the `simherd` command. */
import { run } from './run.ts'

const LEFT_OPEN_MS = 1000

// The reader of our output may close it early, without a failure.
process.stdout.on('error', () => undefined)
process.exitCode = await run(process.argv.slice(2))
// A failed start may have left something open: a listener, a connection that tries again.
if (process.exitCode !== 0) setTimeout(() => process.exit(), LEFT_OPEN_MS).unref()
