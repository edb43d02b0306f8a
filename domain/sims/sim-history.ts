/** The past of a SIM: its pools and tariffs, and its suspensions. */
import { type Static, Type } from 'typebox'
import { Id, Instant, nullable, oneOf, strictObject, Text } from '../schema.ts'

/** The newest so many spans are shown. */
export const MOST_SPANS = 200

const Span = strictObject({
  kind: oneOf(['assignment', 'suspension'], 'assignment: time in a pool, or provisioned without one'),
  from: Instant('Start'),
  to: nullable(Instant('End; null: it lasts')),
  poolId: nullable(Id('Pool of an assignment')),
  poolName: nullable(Text('Its name, also if it is deleted now', 'Household meters')),
  tariffId: nullable(Id('The SIM’s own tariff during an assignment')),
  tariffName: nullable(Text('Its name', 'Metering 100 MB')),
  cause: nullable(oneOf(['user', 'watchdog'], 'Who suspended it')),
  rule: nullable(Text('The rule of a suspension by the watchdog', 'sim-overage')),
  closedBecause: nullable(
    Text('Who ended a suspension: user, watchdog, workflow, month-end; unassign: it was unprovisioned', 'month-end'),
  ),
})
export type Span = Static<typeof Span>

export const SimHistory = strictObject({
  spans: Type.Array(Span, { description: `The newest first, at most ${MOST_SPANS}` }),
  isWhole: Type.Boolean({ description: 'False: there are older ones' }),
})
export type SimHistory = Static<typeof SimHistory>
