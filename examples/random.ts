/**
 * Seeded random numbers, the same on every machine.
 *
 * Uses only addition, multiplication, division and square roots, which IEEE 754 rounds in exactly one way. exp, log and
 * pow may differ in the last bit between engines, and that could change a byte in a file.
 */

export interface Random {
  /** From 0 up to, but not including, 1. */
  unit(): number
  /** From `low` up to, but not including, `high`. */
  between(low: number, high: number): number
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  /** Pareto with exponent 2, from 1 up to `ceiling`: mostly near 1, sometimes far from it. */
  heavy(ceiling: number): number
  /** The same things in random order. */
  shuffled<T>(things: readonly T[]): T[]
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let state = 0x811c9dc5
  for (const letter of text) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  return state >>> 0
}

/** mulberry32: one word of state. Its quality is ample for invented traffic. */
function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A stream of random numbers for one purpose. Streams of one seed and different names are independent. So one more SIM
 * does not change what the others do.
 */
export function random(seed: number, ...names: readonly string[]): Random {
  const unit = mulberry32(hash([String(seed), ...names].join('/')))
  const whole = (low: number, high: number) => low + Math.floor(unit() * (high - low + 1))
  return {
    unit,
    whole,
    between: (low, high) => low + unit() * (high - low),
    chance: (probability) => unit() < probability,
    heavy: (ceiling) => Math.min(ceiling, 1 / Math.sqrt(1 - unit())),
    shuffled: (things) =>
      things
        .map((thing) => ({ thing, place: unit() }))
        .toSorted((a, b) => a.place - b.place)
        .map(({ thing }) => thing),
  }
}
