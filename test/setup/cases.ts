/**
 * How many cases a test draws: a tenth of them in `npm test`, all of them in `npm run test:long`. `CASES=25` draws 25
 * times as many as all, for a long search.
 */
import { randomFrom, SEED } from './seed.ts'

const TENTH = 0.1
const share = Number(process.env.CASES || TENTH)

/**
 * @param all cases of a long run
 * @param least cases that the test needs for its own tallies
 */
export const cases = (all: number, least = 1): number => Math.max(least, Math.ceil(all * share))

/** Whether all cases are drawn. */
export const drawsAll = share >= 1

/** Those of many cases that a run tries: every tenth of them in `npm test`, from a place that its seed decides. */
export function* drawn<T>(all: Iterable<T>): Generator<T> {
  let place = randomFrom(SEED).real()
  for (const one of all) {
    place += share
    if (place < 1) continue
    place %= 1
    yield one
  }
}
