/** Changes of the rules, and their history, as the internal interface has them. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Actor, Instant, KeyName, Label, nullable, oneOf, RequestId, strictObject, Text } from '../schema.ts'

export const RuleVersion = Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Version of the rules' })

export const changeFields = {
  author: Type.Optional(
    Label('Author of the change; default: name of the key', 'Ann', { minLength: 1, maxLength: 100 }),
  ),
  reason: Type.Optional(Text('Why', 'Vans are told at 80 %', { minLength: 1, maxLength: 500 })),
}
/** Field of a change of the version in force. */
export const expectField = {
  expect: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description: 'Expected version in force; 0: none. Any other version: 409 `rules_moved`',
    }),
  ),
}

export const ChangedRules = strictObject({
  version: RuleVersion,
  changed: Type.Boolean({ description: 'False: already in force' }),
})
export type ChangedRules = Static<typeof ChangedRules>

/** Pages of the history. */
export const HistoryQuery = Type.Object({ version: Type.Optional(RuleVersion), ...pageQuery })
export type HistoryQuery = Static<typeof HistoryQuery>

export const RuleChange = strictObject({
  change: oneOf(['pushed', 'activated'], '`pushed`: stored; `activated`: put in force'),
  version: RuleVersion,
  at: Instant('Time of the change'),
  author: Type.String({ description: 'Author, as given' }),
  actor: nullable(Actor),
  actorName: KeyName,
  reason: nullable(Type.String({ description: 'Reason; null: not given' })),
  requestId: nullable(RequestId),
})
export type RuleChange = Static<typeof RuleChange>
