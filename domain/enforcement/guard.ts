/** The guard: permits that rules request before they suspend, holds, and a tenant's settings. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Id, Instant, nullable, optional, strictObject, Text } from '../schema.ts'

const Rule = Text('Name of the rule that asks', 'pool-overage', { minLength: 1, maxLength: 100 })
const CycleKey = Text('Key of the billing cycle', '2026-11', { minLength: 1, maxLength: 32 })
const HoldId = Id('Hold that waits for a decision')

/** Most SIMs of one request. */
const MOST_ASKED = 1000

export const PermitRequest = strictObject(
  {
    rule: Rule,
    cycle: CycleKey,
    poolId: optional(Id("The pool, where a pool's rule asks; left out: counted for the whole tenant")),
    simIds: Type.Array(Id('SIM'), {
      minItems: 1,
      maxItems: MOST_ASKED,
      description: 'SIMs to suspend, the most important first',
    }),
    workflowId: Text('Workflow that asks', 'enforce-pool:tf622080bc0a0:7:2026-11', { maxLength: 300 }),
  },
  {
    examples: [
      { rule: 'pool-overage', cycle: '2026-11', poolId: 7, simIds: [1, 2], workflowId: 'enforce-pool:t:7:2026-11' },
    ],
  },
)
export type PermitRequest = Static<typeof PermitRequest>

const SimIds = (description: string) => Type.Array(Id('SIM'), { description })

/** Every SIM of the request is in exactly one of the lists. */
export const PermitResponse = strictObject({
  granted: SimIds('May be suspended'),
  held: SimIds('Wait for the release or discard of the hold'),
  discarded: SimIds('A person has said no: not until the alert has cleared'),
  delayed: SimIds(
    'Wait for usage: the rule reads it, and the feed is stale. They are asked for again once it is received',
  ),
  holdId: nullable(HoldId),
})
export type PermitResponse = Static<typeof PermitResponse>

const HOLD_STATES = ['held', 'released', 'discarded', 'lapsed'] as const
export type HoldState = (typeof HOLD_STATES)[number]
const HoldStateSchema = Type.Unsafe<HoldState>({
  type: 'string',
  enum: [...HOLD_STATES],
  description: 'held waits for a person; lapsed: its cycle has ended without a decision',
})

const HELD = ['suspensions', 'alerts'] as const
export type HoldSubject = (typeof HELD)[number]

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
  what: Type.Unsafe<HoldSubject>({
    type: 'string',
    enum: [...HELD],
    description: 'suspensions of a rule; or its alerts: they are logged, but neither mailed nor acted on',
  }),
  rule: Rule,
  ruleVersion: Type.Integer({
    minimum: 0,
    description: 'Version of the rule set; 0 for alerts, which are held in any',
  }),
  poolId: nullable(Id('Pool whose suspensions are held; null: the tenant’s')),
  cycle: CycleKey,
  state: HoldStateSchema,
  suspended: Type.Integer({
    minimum: 0,
    description: 'Suspensions, or subjects told of, in the hour before it opened',
  }),
  allowed: Type.Integer({ minimum: 0, description: 'How many the settings let through in an hour' }),
  waiting: Type.Integer({
    minimum: 0,
    description: 'SIMs (or subjects of alerts) that wait for the decision; once it is taken: that it was about',
  }),
  openedAt: Instant('Since when'),
  decidedAt: nullable(Instant('When it was released or discarded')),
  decidedBy: nullable(Text('Id of the API key that decided', '6a34354728b4')),
})
export type Hold = Static<typeof Hold>

export const HoldQuery = Type.Object({ state: Type.Optional(HoldStateSchema), ...pageQuery })
export type HoldQuery = Static<typeof HoldQuery>

export const HoldResponse = strictObject({
  id: HoldId,
  state: HoldStateSchema,
  decided: Type.Integer({ minimum: 0, description: 'SIMs, or subjects of alerts, that it was about' }),
})
export type HoldResponse = Static<typeof HoldResponse>

const Least = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: 'Suspensions by one rule in an hour that are always let through',
  examples: [20],
})
const Pct = Type.Number({
  minimum: 0,
  maximum: 100,
  description: 'Share of the pool’s or tenant’s SIMs, in percent, that is let through where it is more',
  examples: [5],
})
const Enabled = Type.Boolean({ description: 'Whether the watchdog may suspend; off: it only says what it would do' })

const AlertLeast = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: 'Subjects that one rule may begin to mail or to act on in an hour, always',
  examples: [50],
})
const AlertPct = Type.Number({
  minimum: 0,
  maximum: 100,
  description: 'The same as a share of the tenant’s SIMs or pools, in percent, where it is more',
  examples: [2],
})

export const EnforcementSettings = strictObject({
  enabled: Enabled,
  guardLeast: Least,
  guardPct: Pct,
  alertGuardLeast: AlertLeast,
  alertGuardPct: AlertPct,
})
export type EnforcementSettings = Static<typeof EnforcementSettings>
export const EnforcementChange = strictObject(
  {
    enabled: optional(Enabled),
    guardLeast: optional(Least),
    guardPct: optional(Pct),
    alertGuardLeast: optional(AlertLeast),
    alertGuardPct: optional(AlertPct),
  },
  { examples: [{ enabled: true, guardLeast: 20, guardPct: 5, alertGuardLeast: 50, alertGuardPct: 2 }] },
)
export type EnforcementChange = Static<typeof EnforcementChange>
