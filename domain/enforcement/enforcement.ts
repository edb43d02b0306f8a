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
  openedAt: Instant('Start of the suspension'),
})

/** Request that changes how long a suspension by the watchdog lasts. */
export const SuspensionChange = objectWithExample(
  {
    until: Until('renewal: the month end reactivates the SIM; manual: suspended until a person acts'),
    workflowId: Type.String({ maxLength: 300, description: 'The workflow that suspended the SIM' }),
  },
  { until: 'manual', workflowId: 'suspend-on-overage:tf622080bc0a0:1:2026-11' },
)
export type SuspensionChange = Static<typeof SuspensionChange>

export const SimEnforcement = strictObject({
  simId: Id('SIM'),
  iccid: Type.String(),
  status: codeSchema(SimStatus, 'Status'),
  poolId: nullable(Id('Pool of the SIM')),
  processing: Type.Boolean({ description: 'Whether the SIM has open tickets' }),
  overLimit: Type.Boolean({ description: 'Whether the requesting rule is firing for the SIM or its pool' }),
  mode: codeSchema(WatchdogMode, 'Watchdog mode in effect for the rule'),
  exempt: Type.Boolean({ description: 'Whether the SIM is exempt from the watchdog' }),
  enforcementEnabled: Type.Boolean({ description: 'Whether enforcement is on for the tenant' }),
  passedOver: Type.Boolean({ description: 'Whether a person has ended enforcement on the SIM for this cycle' }),
  refused: Type.Boolean({
    description: 'Whether the carrier has permanently refused to suspend the SIM since the rule began to fire',
  }),
  suspension: Type.Union([SuspensionInfo, Type.Null()]),
})
export type SimEnforcement = Static<typeof SimEnforcement>

export const PoolRow = strictObject({
  simId: Id('SIM'),
  usageBytes: Type.Integer(),
  shareBytes: Type.Integer({ description: 'Contribution of the SIM to the pool, in bytes' }),
  excessBytes: Type.Integer({ description: 'Usage above the share, in bytes' }),
  stopped: Type.Boolean({ description: 'Whether the SIM is already suspended' }),
  exempt: Type.Boolean(),
  weaker: Type.Boolean({ description: 'Whether the SIM’s own mode is weaker than Enforce' }),
  held: Type.Boolean({ description: 'Whether a person has ended enforcement on the SIM for this cycle' }),
  refused: Type.Boolean({
    description: 'Whether the carrier has permanently refused to suspend the SIM since the rule began to fire',
  }),
})
export type PoolRow = Static<typeof PoolRow>

export const PoolEnforcement = strictObject({
  poolId: Id('Pool'),
  over: Type.Boolean({ description: 'Whether the requesting rule is firing for the pool' }),
  overageBytes: Type.Integer(),
  enforcementEnabled: Type.Boolean({ description: 'Whether enforcement is on for the tenant' }),
  stoppedExcessBytes: Type.Integer({ description: 'Bytes of suspended SIMs above their shares' }),
  passedOver: Type.Integer({ description: 'SIMs passed over: exempt, in a weaker mode, or held by a person' }),
  armed: Count('SIMs armed by the pool in the cycle'),
  rows: Type.Array(PoolRow, {
    description: 'At most 10,000; SIMs allowed to be picked first, then by excess, largest first',
  }),
})
export type PoolEnforcement = Static<typeof PoolEnforcement>

const SIM_ACTIONS = [
  'suspended',
  'staysSuspended',
  'wouldSuspend',
  'broughtBack',
  'released',
  'graceStarted',
  'graceEnding',
  'suspendFailed',
] as const
export type SimAction = (typeof SIM_ACTIONS)[number]
/**
 * `staysSuspended`: the watchdog would no longer suspend the SIM, but does not bring it back. `tooLittleToPick`: stopping every allowed SIM does not
 * cover a pool's overage.
 */
const ACTIONS = [...SIM_ACTIONS, 'tooLittleToPick'] as const
export type Action = (typeof ACTIONS)[number]

/** An action of enforcement. Recorded once for each SIM or pool, cycle, rule, action and counter. */
export const ActionRequest = objectWithExample(
  {
    simId: optional(Id('The SIM; omitted for an action on a pool')),
    poolId: optional(Id('The pool, with tooLittleToPick')),
    cycle: CycleKey,
    rule: nullable(Name),
    action: oneOf(ACTIONS),
    counter: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Number of earlier times in this run',
    }),
    detail: Type.String({ maxLength: 2000, description: 'Text for people' }),
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
