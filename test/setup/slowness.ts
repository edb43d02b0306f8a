/**
 * How many times slower this machine computes than the one that the budgets are of. Neighbours on the same host make the
 * same work take up to three times the processor time: they share caches, and cores by hyper-threading.
 */

/** Processor seconds of {@link work} on a machine of its own. */
const USUAL = 0.22
const ROUNDS = 3
const MINUTE_MS = 60_000

/**
 * Measures now, each minute, and at the end: neighbours come and go within a run.
 *
 * @returns ends it: the largest slowness seen, at least 1
 */
export function watchSlowness(): () => number {
  // The first time it is compiled.
  work()
  let most = measureSlowness()
  const timer = setInterval(() => {
    most = Math.max(most, measureSlowness())
  }, MINUTE_MS).unref()
  return () => {
    clearInterval(timer)
    return Math.max(1, most, measureSlowness())
  }
}

/** Takes about a second. */
function measureSlowness(): number {
  const before = process.cpuUsage()
  for (let round = 0; round < ROUNDS; round += 1) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6 / ROUNDS / USUAL
}

/** Objects, lists and JSON, of which tests are made too. */
function work(): number {
  const names = Array.from({ length: 40 }, (_, n) => `field${n}`)
  let sum = 0
  for (let round = 0; round < 1500; round += 1) {
    const objects = Array.from({ length: 60 }, (_, n) =>
      Object.fromEntries(names.slice(n % 20, (n % 20) + 6).map((name, at) => [name, n * at])),
    )
    const copied: Record<string, number>[] = JSON.parse(JSON.stringify(objects))
    for (const one of copied) for (const name of names) if (Object.hasOwn(one, name)) sum += one[name] ?? 0
    sum += copied.map((one) => Object.keys(one).join()).toSorted().length
  }
  return sum
}
