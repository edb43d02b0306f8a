/** The shadow log: what rules in stage `shadow` would have done. For the operator alone. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { DateFilter, pageQuery } from '../page.ts'
import { RuleVersion } from '../rules/rule-change.ts'
import { Id, Instant, nullable, oneOf, strictObject, Text } from '../schema.ts'

const Does = oneOf(['log', 'mail', 'suspend'], 'Simulated action: write to the watchdog log, mail, or suspend')
export type ShadowAct = Static<typeof Does>

export const ShadowEntry = strictObject({
  id: Id('Id of the entry'),
  rule: Type.String({ description: 'Name of the rule' }),
  version: RuleVersion,
  does: Does,
  simId: nullable(Id('The SIM, if any')),
  poolId: nullable(Id('The pool, or the SIM’s pool')),
  level: codeSchema(LogLevel, 'Log level'),
  message: Type.String({ description: 'Text of the entry' }),
  date: Instant('Time of the entry'),
})
export type ShadowEntry = Static<typeof ShadowEntry>

export const ShadowQuery = Type.Object({
  rule: Type.Optional(Text('Entries of this rule', 'sim-overage')),
  version: Type.Optional(RuleVersion),
  does: Type.Optional(Does),
  date: Type.Optional(DateFilter),
  ...pageQuery,
  ...cursorQuery('shadow'),
})
export type ShadowQuery = Static<typeof ShadowQuery>
