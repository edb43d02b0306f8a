/** What a command fails with, for tests. */
import { CommandFailure } from '../../cli/failures.ts'

/** @throws Error where it fails otherwise, or not at all */
export async function failureOf(work: Promise<unknown>): Promise<CommandFailure> {
  const error: unknown = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (error instanceof CommandFailure) return error
  throw new Error('no failure of the command', { cause: error })
}
