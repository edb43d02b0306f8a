/** SIMs and pools as enforcing workflows read them, and their reports. Source: the internal interface. */

import { type Static, Type } from 'typebox'
import { codeSchema, SimStatus, WatchdogMode } from '../codes.ts'
import { Count, Id, Instant, nullable, objectWithExample, oneOf, optional, strictObject } from '../schema.ts'
import { SUSPENDED_UNTIL } from '../temporal/suspend-on-overage.ts'

export const Until = (description?: string) => oneOf(SUSPENDED_UNTIL, description)
const Name = Type.String({ minLength: 1, maxLength: 200 })
const CycleKey = Type.String({ minLength: 1, maxLength: 32, description: 'Key of the billing cycle' })

/** The cause of a SIM's suspension, if it is suspended. */
const SuspensionInfo = strictObject({
  cause: oneOf(['user', 'watchdog']),
  rule: nullable(Name),
  cycle: nullable(CycleKey),
  until: nullable(Until()),
  workflowId: nullable(Type.String()),
  openedAt: Instant('Since when'),
})
export type SuspensionInfo = Static<typeof SuspensionInfo>

/** Request that changes how long a suspension by the watchdog lasts. */
export const SuspensionChange = objectWithExample(
  {
    until: Until('renewal: the month end brings it back; manual: stays until a person acts'),
    workflowId: Type.String({ maxLength: 300, description: 'The workflow that has suspended it' }),
  },
  { until: 'manual', workflowId: 'suspend-on-overage:tf622080bc0a0:1:2026-11' },
)
export type SuspensionChange = Static<typeof SuspensionChange>

export const SimEnforcement = strictObject({
  simId: Id('SIM'),
  iccid: Type.String(),
  status: codeSchema(SimStatus, 'Status'),
  poolId: nullable(Id('Its pool')),
  processing: Type.Boolean({ description: 'Whether it has open tickets' }),
  overLimit: Type.Boolean({ description: 'Whether the rule that asks to suspend is firing for the SIM or its pool' }),
  mode: codeSchema(WatchdogMode, 'Watchdog mode that bounds the rule'),
  exempt: Type.Boolean({ description: 'Whether the watchdog must not touch it' }),
  enforcementEnabled: Type.Boolean({ description: 'Whether the tenant lets the watchdog enforce' }),
  passedOver: Type.Boolean({ description: 'Whether a person has ended enforcement on it for this cycle' }),
  refused: Type.Boolean({
    description: 'Whether the carrier has refused for good to suspend it, since the rule began to fire',
  }),
  suspension: Type.Union([SuspensionInfo, Type.Null()]),
})
export type SimEnforcement = Static<typeof SimEnforcement>

export const PoolRow = strictObject({
  simId: Id('SIM'),
  usageBytes: Type.Integer(),
  shareBytes: Type.Integer({ description: 'What the SIM contributes to the pool' }),
  excessBytes: Type.Integer({ description: 'Usage above the share' }),
  stopped: Type.Boolean({ description: 'Whether it is suspended already' }),
  exempt: Type.Boolean(),
  weaker: Type.Boolean({ description: 'Whether its own mode is weaker than Enforce' }),
  held: Type.Boolean({ description: 'Whether a person has ended enforcement on it for this cycle' }),
  refused: Type.Boolean({
    description: 'Whether the carrier has refused for good to suspend it, since the rule began to fire',
  }),
})
export type PoolRow = Static<typeof PoolRow>

export const PoolEnforcement = strictObject({
  poolId: Id('Pool'),
  over: Type.Boolean({ description: 'Whether the rule that asks to suspend is firing for the pool' }),
  overageBytes: Type.Integer(),
  enforcementEnabled: Type.Boolean({ description: 'Whether the tenant lets the watchdog enforce' }),
  stoppedExcessBytes: Type.Integer({ description: 'What those that are suspended have above their share' }),
  passedOver: Type.Integer({ description: 'SIMs that are left alone: exempt, in a weaker mode, or held by a person' }),
  armed: Count('SIMs that the pool has armed in the cycle'),
  rows: Type.Array(PoolRow, {
    description: 'At most 10,000; those that may be picked first, the largest excess first',
  }),
})
export type PoolEnforcement = Static<typeof PoolEnforcement>

const SIM_ACTIONS = [
  'suspended',
  'wouldSuspend',
  'broughtBack',
  'released',
  'graceStarted',
  'graceEnding',
  'suspendFailed',
] as const
export type SimAction = (typeof SIM_ACTIONS)[number]
/** `tooLittleToPick`: stopping every allowed SIM does not cover a pool's overage. */
const ACTIONS = [...SIM_ACTIONS, 'tooLittleToPick'] as const
export type Action = (typeof ACTIONS)[number]

/** An action of enforcement. Recorded once for each SIM or pool, cycle, rule, action and counter. */
export const ActionRequest = objectWithExample(
  {
    simId: optional(Id('The SIM; left out where the action is of a pool')),
    poolId: optional(Id('The pool, with tooLittleToPick')),
    cycle: CycleKey,
    rule: nullable(Name),
    action: oneOf(ACTIONS),
    counter: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'How many times before in this run',
    }),
    detail: Type.String({ maxLength: 2000, description: 'Words for people' }),
    ticketId: Type.Optional(nullable(Type.String())),
    workflowId: Type.String({ maxLength: 300 }),
  },
  {
    simId: 1,
    cycle: '2026-11',
    rule: 'sim-overage',
    action: 'graceStarted',
    counter: 0,
    detail: 'SIM 8999900000000000017 (meter 17) is suspended in 4 hours unless its usage is settled.',
    workflowId: 'suspend-on-overage:tf622080bc0a0:1:2026-11',
  },
)
export type ActionRequest = Static<typeof ActionRequest>
