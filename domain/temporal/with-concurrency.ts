/** Works through items in order, at most `concurrency` at a time. @throws the first error; others may still go on */
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
