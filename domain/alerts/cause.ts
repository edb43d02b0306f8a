/** Open alerts by their causes: the rules that they are of, each at a level. */
import { type Static, Type } from 'typebox'
import { Count, Instant, oneOf, strictObject } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'
import { Alert, AlertLevel, RuleName } from './alert.ts'

const AlertCause = strictObject({
  rule: RuleName,
  level: AlertLevel,
  kind: oneOf(SUBJECT_KINDS, 'Kind of its subjects'),
  alerts: Count('Alerts that have not ended'),
  firing: Count('Those of them that fire, or are recovering'),
  acknowledged: Count('Those that a person has acknowledged'),
  withheld: Count('Those whose rule has actions that are withheld'),
  since: Instant('Since when the conditions of one of them are met'),
  newest: Alert,
})
export type AlertCause = Static<typeof AlertCause>

export const AlertCauses = strictObject({
  causes: Type.Array(AlertCause, { description: 'The highest level first, then the most alerts' }),
  alerts: Count('Alerts looked at, the newest: at most 5,000'),
  isWhole: Type.Boolean({ description: 'Whether these are all; false: there are more, which are not counted' }),
})
export type AlertCauses = Static<typeof AlertCauses>
