/** Two ways to do the same thing, timed in interleaved rounds. */
import { cpus, loadavg, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const ROUNDS = 5

/** Milliseconds of each round. */
export interface Timed {
  readonly ours: readonly number[]
  readonly theirs: readonly number[]
}

/** Runs both once to warm up, then five times each, in turn. @returns milliseconds of one call */
export async function inTurn(ours: () => Promise<unknown>, theirs: () => Promise<unknown>, calls = 1): Promise<Timed> {
  const once = async (work: () => Promise<unknown>) => {
    const from = performance.now()
    for (let n = 0; n < calls; n++) await work()
    return (performance.now() - from) / calls
  }
  await once(ours)
  await once(theirs)
  const seen: { readonly ours: number[]; readonly theirs: number[] } = { ours: [], theirs: [] }
  for (let round = 0; round < ROUNDS; round++) {
    seen.ours.push(await once(ours))
    seen.theirs.push(await once(theirs))
  }
  return seen
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2
}

/** The value that this share of all does not exceed. @param share 0 to 1 */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? Number.NaN

/** Median, least and most. */
export const spread = (values: readonly number[], digits = 1): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`

export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`

/**
 * Reads options with whole numbers above 0.
 *
 * @param defaults the options' names and default values
 * @throws Error that names the option
 */
export function wholeNumbers<N extends string>(defaults: Readonly<Record<N, number>>): Record<N, number> {
  const options = Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' as const }]))
  const { values } = parseArgs({ options })
  const read: Record<N, number> = { ...defaults }
  for (const name in defaults) {
    const text = values[name]
    if (text === undefined) continue
    read[name] = Number(text)
    if (!Number.isInteger(read[name]) || read[name] < 1)
      throw new Error(`--${name}: got ${text}, expected a whole number above 0`)
  }
  return read
}

/** Does something again and again, with pauses between. @returns ends it, once what runs is done */
export function everyMs(pauseMs: number, look: () => Promise<void>): () => Promise<void> {
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      await look()
      await sleep(pauseMs)
    }
  }
  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}
