/**
 * Makes something when it is first asked for, and keeps it. Those who ask meanwhile wait for the same. What has failed is
 * tried again at the next call.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}
