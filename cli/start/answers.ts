import { Value } from 'typebox/value'
import { Readiness } from '../../process/health.ts'

/**
 * Whether a GET gets a response with status 2xx.
 *
 * @throws Error if the connection is refused, or if there is no response within three seconds
 */
export async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(3000) })
  await response.body?.cancel()
  return response.ok
}

/**
 * Reads the readiness of a process and its dependencies.
 *
 * @returns undefined if another program answers
 * @throws Error if nothing answers at its `/readyz`
 */
export async function readinessAt(readyUrl: string, timeoutMs = 30_000): Promise<Readiness | undefined> {
  const response = await fetch(readyUrl, { signal: AbortSignal.timeout(timeoutMs) })
  const body: unknown = await response.json()
  return Value.Check(Readiness, body) ? body : undefined
}

/** Whether a process has all of its dependencies, also those that it can work without. @throws as {@link readinessAt} */
export async function hasAll(readyUrl: string): Promise<boolean> {
  const readiness = await readinessAt(readyUrl)
  return readiness?.dependencies.every(({ ok }) => ok) === true
}
