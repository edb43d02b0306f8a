/** Whether something answers a GET with 2xx within three seconds; a refused connection throws. */
export async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(3000) })
  await response.body?.cancel()
  return response.ok
}
