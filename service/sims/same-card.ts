/** Finds SIMs of the same card. Lists have its ICCID with its check digit and without. */
import { otherIccidsOf } from '../../domain/identifiers.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { findIccids } from './rows/sims.ts'

/** A card that a list has named before. */
interface CardRepeat {
  /** Place of the first ICCID of the card in the list, from 0. */
  readonly first: number
  /** This ICCID in words. @param first words for that place, such as `record 0` */
  readonly sameAs: (first: string) => string
}

/** Makes a function that takes the ICCIDs of a list in turn, and returns undefined for those of a new card. */
export function cardsOfList(): (iccid: string, index: number) => CardRepeat | undefined {
  const places = new Map<string, number>()
  return (iccid, index) => {
    const known = [iccid, ...otherIccidsOf(iccid)].find((one) => places.has(one))
    const first = places.get(known ?? '')
    if (known === undefined || first === undefined) {
      places.set(iccid, index)
      return undefined
    }
    const sameAs = (it: string) =>
      known === iccid ? `the same ICCID as ${it}: ${iccid}` : `the same card as ${it}: ${whySame(iccid, known)}`
    return { first, sameAs }
  }
}

/**
 * Finds which cards are SIMs already under their other ICCID, of this tenant or another.
 *
 * @returns why it is the same card, for people, by ICCID
 */
export async function cardsKnown(tx: TenantTx, iccids: readonly string[]): Promise<Map<string, string>> {
  const named = iccids.map((iccid) => ({ iccid, others: otherIccidsOf(iccid) }))
  const others = named.flatMap(({ others }) => others)
  const found = await findIccids(tx, others)
  return new Map(
    named.flatMap(({ iccid, others }) => {
      const known = others.find((other) => found.has(other))
      if (known === undefined) return []
      const id = found.get(known)
      return [[iccid, `is the card of ${id === null ? 'another SIM' : `SIM ${id}`}: ${whySame(iccid, known)}`]]
    }),
  )
}

function whySame(iccid: string, other: string): string {
  const [without, whole] = iccid.length < other.length ? [iccid, other] : [other, iccid]
  return `${whole} is ${without} with its check digit`
}
