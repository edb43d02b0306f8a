/**
 * Works through items in their order, at most `concurrency` at a time.
 *
 * @throws what the first failing item throws; does not wait for the others that are under way
 */
export async function withConcurrency<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const takeNext = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, items.length)) }, takeNext))
}
