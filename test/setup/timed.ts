/** A limit of processor time is this many times what a quick machine may take: neighbours on its host slow a machine. */
export const SLOWEST = 4

/** @returns what `work` returns, and the processor time of this thread meanwhile, in milliseconds: as long on a busy machine */
export async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = process.threadCpuUsage()
  const done = await work()
  const { user, system } = process.threadCpuUsage(before)
  return [done, (user + system) / 1000]
}
