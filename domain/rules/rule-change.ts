/** Changes of the rules, and their history, as the internal interface has them. */
import { type Static, Type } from 'typebox'
import { Actor, RequestId } from '../caller.ts'
import { Instant, Label, nullable, oneOf, strictObject, Text } from '../schema.ts'

export const RuleVersion = Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Version of the rules' })

export const changeFields = {
  author: Label('Who changes the rules', 'Ann', { minLength: 1, maxLength: 100 }),
  reason: Type.Optional(Text('Why', 'Vans are told at 80 %', { minLength: 1, maxLength: 500 })),
}
/** Field of a change of the version in force. */
export const expectField = {
  expect: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description: 'The version that has to be in force before; 0: none. Another one: 409 `rules_moved`',
    }),
  ),
}

export const ChangedRules = strictObject({
  version: RuleVersion,
  changed: Type.Boolean({ description: 'False where it was in force already' }),
})
export type ChangedRules = Static<typeof ChangedRules>

export const RuleChange = strictObject({
  change: oneOf(['pushed', 'activated'], '`pushed`: the version came in; `activated`: it was put in force'),
  version: RuleVersion,
  at: Instant('When'),
  author: Type.String({ description: 'Who, as they named themselves' }),
  actor: nullable(Actor),
  reason: nullable(Type.String({ description: 'Why; null where nobody said' })),
  requestId: nullable(RequestId),
})
export type RuleChange = Static<typeof RuleChange>
