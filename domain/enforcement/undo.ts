/** Undoes the suspensions of one rule: the request, and the data that its workflow reads and sends. */
import { type Static, Type } from 'typebox'
import { Count, Id, Instant, nullable, objectWithExample, optional, strictObject, Text } from '../schema.ts'

const Rule = Text('Name of the rule', 'pool-overage', { minLength: 1, maxLength: 100 })

export const StartUndo = objectWithExample(
  {
    rule: Rule,
    since: Instant('Suspensions from this time on'),
    until: optional(Instant('Suspensions before this time; default: now')),
  },
  { rule: 'pool-overage', since: '2026-11-20T00:00:00.000Z' },
)
export type StartUndo = Static<typeof StartUndo>

export const UndoQuery = Type.Object({
  rule: Rule,
  since: Instant('Suspensions from this time on'),
  until: Type.Optional(Instant('Suspensions before this time; default: now')),
  afterSimId: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'SIMs with a higher id',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Most items' })),
})
export type UndoQuery = Static<typeof UndoQuery>

export const SuspensionToUndo = strictObject({
  simId: Id('SIM'),
  workflowId: Type.String({ description: 'Its suspend-on-overage workflow, running or not' }),
  suspended: Type.Boolean({ description: 'Whether the SIM is suspended; false: about to be' }),
})
export type SuspensionToUndo = Static<typeof SuspensionToUndo>

export const UndoPage = strictObject({
  suspensions: Type.Array(SuspensionToUndo, { description: 'By SIM id' }),
  total: Count('SIMs on this page and on later ones'),
  nextAfterSimId: nullable(Id('Request SIMs after this one; null at the end')),
})
export type UndoPage = Static<typeof UndoPage>

/** Most SIMs of a rule in its count. */
export const MOST_SUSPENDED = 5000

export const SuspendingRules = strictObject({
  rules: Type.Array(
    strictObject({
      rule: Rule,
      sims: Count('SIMs that it has suspended, and that are so now'),
      isWhole: Type.Boolean({ description: 'Whether all are counted; false: the rule has suspended more than 5,000' }),
      firstAt: Instant('First suspension among those counted'),
      lastAt: Instant('Last suspension among those counted'),
    }),
    { description: 'The last to have suspended comes first; at most 100' },
  ),
})
export type SuspendingRules = Static<typeof SuspendingRules>

const MOST_PASSED = 500

export const PassOver = strictObject({
  simIds: Type.Array(Id('SIM'), { minItems: 1, maxItems: MOST_PASSED, description: 'The SIMs' }),
  cycle: optional(
    Text('Key of the billing cycle; default: the running one', '2026-11', { minLength: 1, maxLength: 32 }),
  ),
})
export type PassOver = Static<typeof PassOver>
