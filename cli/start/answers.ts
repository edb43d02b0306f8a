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
