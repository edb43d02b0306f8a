/** @returns what `work` returns, and the processor time of this thread meanwhile, in milliseconds: as long on a busy machine */
export async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = process.threadCpuUsage()
  const done = await work()
  const { user, system } = process.threadCpuUsage(before)
  return [done, (user + system) / 1000]
}
