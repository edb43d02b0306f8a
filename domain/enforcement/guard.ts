/** The guard: permits that rules request before they suspend, holds, and a tenant's settings. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import {
  Count,
  Id,
  Instant,
  KeyName,
  nullable,
  objectWithExample,
  oneOf,
  optional,
  strictObject,
  Text,
} from '../schema.ts'

const Rule = Text('Name of the requesting rule', 'pool-overage', { minLength: 1, maxLength: 100 })
const CycleKey = Text('Key of the billing cycle', '2026-11', { minLength: 1, maxLength: 32 })
const HoldId = Id('The open hold')

const MOST_ASKED = 1000

export const PermitRequest = objectWithExample(
  {
    rule: Rule,
    cycle: CycleKey,
    poolId: optional(Id("The pool, for a pool's rule; omitted: counted for the whole tenant")),
    simIds: Type.Array(Id('SIM'), {
      minItems: 1,
      maxItems: MOST_ASKED,
      description: 'SIMs to suspend, the most important first',
    }),
    workflowId: Text('The requesting workflow', 'enforce-pool:tf622080bc0a0:7:2026-11', { maxLength: 300 }),
  },
  { rule: 'pool-overage', cycle: '2026-11', poolId: 7, simIds: [1, 2], workflowId: 'enforce-pool:t:7:2026-11' },
)
export type PermitRequest = Static<typeof PermitRequest>

const SimIds = (description: string) => Type.Array(Id('SIM'), { description })

/** Every SIM of the request is in exactly one of the lists. */
export const PermitResponse = strictObject({
  granted: SimIds('SIMs with a permit'),
  held: SimIds('SIMs waiting for the release or discard of the hold'),
  discarded: SimIds('SIMs denied by a person until the alert has cleared'),
  delayed: SimIds(
    'SIMs waiting for usage: the rule reads it, and the feed is stale. Request them again after usage has arrived',
  ),
  holdId: nullable(HoldId),
})
export type PermitResponse = Static<typeof PermitResponse>

const HoldStateSchema = oneOf(
  ['held', 'released', 'discarded', 'lapsed'],
  'held: waits for a person; lapsed: its cycle has ended without a decision',
)
export type HoldState = Static<typeof HoldStateSchema>

const HoldSubjectSchema = oneOf(
  ['suspensions', 'alerts'],
  'suspensions of a rule, or its alerts: logged, but neither mailed nor acted on',
)
export type HoldSubject = Static<typeof HoldSubjectSchema>

/**
 * The scope of a count and a hold of the guard: the suspensions of one rule in one version of the rules, in a pool or
 * (null) in the whole tenant. Or the mails and actions that the rule begins, in any version: `alerts`, version 0, no
 * pool.
 */
export interface GuardScope {
  readonly what: HoldSubject
  readonly rule: string
  readonly version: number
  readonly poolId: number | null
  readonly cycleKey: string
}

export const Hold = strictObject({
  id: HoldId,
  what: HoldSubjectSchema,
  rule: Rule,
  ruleVersion: Count('Version of the rule set; 0 for alerts, held in every version'),
  poolId: nullable(Id('Pool of the held suspensions; null: the tenant’s')),
  cycle: CycleKey,
  state: HoldStateSchema,
  suspended: Count('Suspensions, or mailed subjects, in the hour before the hold opened'),
  allowed: Count('Number permitted in an hour by the settings'),
  waiting: Count('SIMs, or subjects of alerts, waiting for the decision; after it: the decided ones'),
  openedAt: Instant('Time when the hold was opened'),
  lapsesAt: Instant('End of its billing cycle, when it lapses without a decision'),
  decidedAt: nullable(Instant('Time of the release or discard')),
  decidedBy: nullable(Text('Id of the API key that decided', '6a34354728b4')),
  decidedByName: KeyName,
})
export type Hold = Static<typeof Hold>

export const HoldQuery = Type.Object({ state: Type.Optional(HoldStateSchema), ...pageQuery })
export type HoldQuery = Static<typeof HoldQuery>

export const DecisionQuery = Type.Object({
  expect: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description: 'Most that may wait, as read in `waiting`. If more do: 409 `hold_grown`',
    }),
  ),
})

export const HoldResponse = strictObject({
  id: HoldId,
  state: HoldStateSchema,
  decided: Count('SIMs, or subjects of alerts, in the hold'),
})
export type HoldResponse = Static<typeof HoldResponse>

const least = (description: string, example: number) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000, description, examples: [example] })
const pct = (description: string, example: number) =>
  Type.Number({ minimum: 0, maximum: 100, description, examples: [example] })

const settings = {
  enabled: Type.Boolean({ description: 'Whether the watchdog may suspend; off: it only reports' }),
  guardLeast: least('Suspensions by one rule in an hour, always permitted', 20),
  guardPct: pct('The same as a share of the pool’s or tenant’s SIMs, in percent; the larger number counts', 5),
  alertGuardLeast: least('Subjects on which one rule may begin to mail or act in an hour, always permitted', 50),
  alertGuardPct: pct('The same as a share of the tenant’s SIMs or pools, in percent; the larger number counts', 2),
}
export const EnforcementSettings = strictObject(settings)
export type EnforcementSettings = Static<typeof EnforcementSettings>
export const EnforcementChange = objectWithExample(
  {
    enabled: optional(settings.enabled),
    guardLeast: optional(settings.guardLeast),
    guardPct: optional(settings.guardPct),
    alertGuardLeast: optional(settings.alertGuardLeast),
    alertGuardPct: optional(settings.alertGuardPct),
  },
  { enabled: true, guardLeast: 20, guardPct: 5, alertGuardLeast: 50, alertGuardPct: 2 },
)
export type EnforcementChange = Static<typeof EnforcementChange>
