/** Runs one command, and prints its failure. */
import { CommanderError } from 'commander'
import { asCommandFailure, CommandFailure, ExitCode, wordsOf } from './failures.ts'
import { printable } from './print.ts'
import { program } from './program.ts'

/**
 * A failure that the user can fix is printed in one line, with one more line for each wrong field. Only a defect of
 * Simherd itself is printed with its stack.
 *
 * @param args the arguments after `simherd`
 * @returns the exit code
 */
export async function run(args: readonly string[]): Promise<ExitCode> {
  try {
    await program.parseAsync([...args], { from: 'user' })
    return ExitCode.ok
  } catch (error) {
    // Commander has printed its message already. Help and version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage
    const failure = asCommandFailure(error)
    console.error(printable(`simherd: ${wordsOf(failure)}`))
    if (failure instanceof CommandFailure) return failure.exitCode
    if (failure instanceof Error && failure.stack !== undefined) console.error(failure.stack)
    return ExitCode.failure
  }
}
