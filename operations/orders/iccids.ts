/** Checks lists of ICCIDs that are to become the SIMs of an order: all of them, or none. */
import { type FieldError, ServiceError } from '../../domain/errors.ts'

/** Where an ICCID is in the request: its JSON pointer, from its index in the list. */
export type PointerOf = (index: number) => string

/** How many faults of a long list are reported: the first ones are enough. */
const MOST_FAULTS = 10
const first = (errors: readonly FieldError[]) => ({ errors: errors.slice(0, MOST_FAULTS) })

/** Refuses a list that has faults. @throws ServiceError `invalid_request` if there is any */
export function refuseFaults(what: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new ServiceError('invalid_request', `${what}: ${errors.length} do not.`, first(errors))
}

/** Refuses a list that names an ICCID twice. @throws ServiceError `invalid_request` */
export function refuseTwice(iccids: readonly string[], pointerOf: PointerOf): void {
  const places = new Map<string, number>()
  const errors = iccids.flatMap((iccid, index): FieldError[] => {
    const place = places.get(iccid)
    if (place !== undefined) return [{ pointer: pointerOf(index), detail: `is the same ICCID as ${pointerOf(place)}` }]
    places.set(iccid, index)
    return []
  })
  refuseFaults('Each SIM has an ICCID of its own', errors)
}

/** Refuses a list if some SIMs could not be written because they exist. @throws ServiceError `sim_exists` */
export function refuseExisting(iccids: readonly string[], written: ReadonlySet<string>, pointerOf: PointerOf): void {
  const errors = iccids.flatMap((iccid, index): FieldError[] =>
    written.has(iccid) ? [] : [{ pointer: pointerOf(index), detail: `ICCID ${iccid} exists already` }],
  )
  if (errors.length === 0) return
  throw new ServiceError(
    'sim_exists',
    `${errors.length} of the ${iccids.length} ICCIDs exist already; nothing was done.`,
    first(errors),
  )
}
