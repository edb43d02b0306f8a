/**
 * Works through items in their order, at most `concurrency` at a time.
 *
 * @throws the error of the first failing item; does not wait for others under way
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
