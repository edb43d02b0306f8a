/** Lets tests look at the failure of a command. */
import { CommandFailure } from '../../cli/failures.ts'

/** @throws Error if the command fails in another way, or not at all */
export async function failureOf(work: Promise<unknown>): Promise<CommandFailure> {
  const error: unknown = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (error instanceof CommandFailure) return error
  throw new Error('no failure of the command', { cause: error })
}
