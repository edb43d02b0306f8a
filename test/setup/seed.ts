/**
 * The seed of a run of the tests: fast-check, the suites that draw cases, and Schemathesis all begin with it. It comes
 * from the commit, so a commit tries the same cases everywhere, and the next commit tries others. `SEED=` gives another.
 */
import { execFileSync } from 'node:child_process'

const END = 2 ** 31

/** A whole number from 0, below 2^31. */
export const SEED = readSeed(process.env.SEED)

/**
 * @param given the value of `SEED`; undefined or empty: the commit decides
 * @throws Error if it is no whole number from 0 to 2^31 - 1
 */
export function readSeed(given: string | undefined): number {
  // 28 bits of the commit's hash.
  if (given === undefined || given === '') return Number.parseInt(commit().slice(0, 7), 16)
  const seed = Number(given)
  if (/^\d+$/.test(given) && seed < END) return seed
  throw new Error(`SEED is '${given}', expected a whole number from 0 to ${END - 1}`)
}

/** The hash of the commit that is checked out; zeros where there is no repository. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return '0000000'
  }
}

export interface Random {
  /** From 0, below 1. */
  readonly real: () => number
  /** A whole number below `end`. */
  readonly below: (end: number) => number
  readonly pick: <T>(items: readonly T[]) => T
  readonly chance: (share: number) => boolean
}

/** Mulberry32: the same numbers for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed | 0
  const real = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(real() * end)
  return { real, below, pick: (items) => items[below(items.length)]!, chance: (share) => real() < share }
}
