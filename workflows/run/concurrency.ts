/**
 * Works through items, at most so many at a time, in their order.
 *
 * @throws what the first failing item throws; the others of its moment are not waited for
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
