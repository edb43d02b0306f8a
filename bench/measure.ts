/** Two ways to do the same thing, timed in interleaved rounds. */
import { cpus, loadavg, totalmem } from 'node:os'

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

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Median, least and most. */
export const spread = (values: readonly number[], digits = 1): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`

export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`
