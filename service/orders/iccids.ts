/** Checks lists of ICCIDs for the SIMs of an order: it gets all of them, or none. */
import { type FieldError, ServiceError } from '../../domain/errors.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cardsKnown, cardsOfList } from '../sims/same-card.ts'

/** The place of an ICCID in the request: its JSON pointer, from its index in the list. */
export type PointerOf = (index: number) => string

/** How many faults of a long list are reported: the first ones are enough. */
const MOST_FAULTS = 10
const first = (errors: readonly FieldError[]) => ({ errors: errors.slice(0, MOST_FAULTS) })

/** Refuses a list with faults. @throws ServiceError `invalid_request` if there is any */
export function refuseFaults(what: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new ServiceError('invalid_request', `${what}: ${errors.length} do not.`, first(errors))
}

/** Refuses a list that names a card twice, with or without its check digit. @throws ServiceError `invalid_request` */
export function refuseTwice(iccids: readonly string[], pointerOf: PointerOf): void {
  const repeated = cardsOfList()
  const errors = iccids.flatMap((iccid, index): FieldError[] => {
    const before = repeated(iccid, index)
    if (before === undefined) return []
    return [{ pointer: pointerOf(index), detail: `is ${before.sameAs(pointerOf(before.first))}` }]
  })
  refuseFaults('Each SIM has an ICCID of its own', errors)
}

/**
 * Refuses a list if some of its cards were SIMs before, also with or without their check digit. Call after writing.
 *
 * @param written ICCIDs of the SIMs that could be written
 * @throws ServiceError `sim_exists`
 */
export async function refuseExisting(
  tx: TenantTx,
  iccids: readonly string[],
  written: ReadonlySet<string>,
  pointerOf: PointerOf,
): Promise<void> {
  const known = await cardsKnown(tx, iccids)
  const errors = iccids.flatMap((iccid, index): FieldError[] => {
    const why = written.has(iccid) ? known.get(iccid) : 'exists already'
    return why === undefined ? [] : [{ pointer: pointerOf(index), detail: `ICCID ${iccid} ${why}` }]
  })
  if (errors.length === 0) return
  throw new ServiceError(
    'sim_exists',
    `${errors.length} of the ${iccids.length} ICCIDs exist already; nothing was done.`,
    first(errors),
  )
}
