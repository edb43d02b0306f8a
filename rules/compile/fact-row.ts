/** The form in which compiled rules receive a subject's facts: a list with a place for each of the catalogue. */
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import { FACTS, type Facts } from '../facts.ts'
import type { FactOf, Moment } from '../facts-of.ts'

/**
 * Facts of a subject by {@link placeOfFact}. `undefined`: not read. A row may be filled again for the next subject, in all
 * its places: compiled rules keep no reference to it.
 */
export type FactRow = readonly (FactValue | undefined)[]

const NAMES = Object.keys(FACTS)
const PLACES: ReadonlyMap<string, number> = new Map(NAMES.map((name, place) => [name, place]))

/** Number of places in a row, the same for all kinds of subject. */
export const ROW_LENGTH = NAMES.length

/** The place of a fact in a row, the same for all kinds of subject. @throws Error if the catalogue lacks it */
export function placeOfFact(name: string): number {
  const place = PLACES.get(name)
  if (place === undefined) throw new Error(`got the fact ${name}, expected one of the catalogue (rules/facts.ts)`)
  return place
}

/** A row with the given facts. Other facts count as not read. */
export const rowOf = (facts: Facts): FactRow => NAMES.map((name) => facts[name])

/**
 * Makes the function that fills a row with the given facts, always the same row: it is good until the next call. The
 * other facts count as not read.
 */
export function filling(names: readonly string[]): (facts: Facts) => FactRow {
  const row: (FactValue | undefined)[] = NAMES.map(() => undefined)
  const read = names.map((name) => ({ name, place: placeOfFact(name) }))
  return (facts) => {
    for (const { name, place } of read) row[place] = facts[name]
    return row
  }
}

/**
 * The same from the rows read of a subject, without an object for its facts.
 *
 * @param factsOf how each of the facts follows, by its name
 * @throws Error if `factsOf` has none of a name
 */
export function fillingFrom<Row>(
  names: readonly string[],
  factsOf: ReadonlyMap<string, FactOf<Row>>,
): (from: Row, moment: Moment) => FactRow {
  const row: (FactValue | undefined)[] = NAMES.map(() => undefined)
  const read = names.map((name) => {
    const factOf = factsOf.get(name)
    if (factOf === undefined) throw new Error(`got the fact ${name}, expected one of the subject`)
    return { place: placeOfFact(name), factOf }
  })
  return (from, moment) => {
    for (const { place, factOf } of read) row[place] = factOf(from, moment)
    return row
  }
}
