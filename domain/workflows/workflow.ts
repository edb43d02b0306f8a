/** Requests of the internal interface that start workflows, and how it shows runs. */

import { type Static, Type } from 'typebox'
import { Until } from '../enforcement/enforcement.ts'
import { pageQuery } from '../page.ts'
import { Count, Iccid, Id, Instant, nullable, objectWithExample, oneOf, optional, strictObject } from '../schema.ts'
import { Tag } from '../sims/sim.ts'
import { WORKFLOW_TYPES } from '../temporal/ids.ts'
import { ALERT_SIGNALS } from '../temporal/signals.ts'
import { DURATION_PATTERN } from '../time/duration.ts'

const Rule = Type.String({ minLength: 1, maxLength: 100, description: 'Name of the requesting rule' })
const CycleKey = Type.String({ minLength: 1, maxLength: 32, description: 'Key of a billing cycle' })
const Grace = Type.String({ pattern: DURATION_PATTERN, description: 'ISO 8601 duration; PT0S acts at once' })
const UntilField = Until('renewal: the SIM resumes with the next cycle; manual: suspended until a person acts')

export const StartProvision = objectWithExample(
  {
    simId: optional(Id('The SIM; or give iccid')),
    iccid: optional(Iccid('ICCID of the SIM, or give simId')),
    poolId: optional(Id('Target pool; default: none')),
    tariffId: optional(Id('The SIM’s own tariff; default: none')),
    tag: optional(Tag('Tag to set with the activation')),
  },
  { simId: 1, poolId: 1, tag: 'meter 17' },
)
export type StartProvision = Static<typeof StartProvision>

export const StartSuspend = strictObject({
  simId: Id('The SIM'),
  cycle: optional(CycleKey),
  rule: optional(Rule),
  grace: optional(Grace),
  until: Type.Optional(Type.Union([UntilField, Type.Null()])),
})
export type StartSuspend = Static<typeof StartSuspend>

export const StartMonthEnd = strictObject({ cycle: optional(CycleKey) })
export type StartMonthEnd = Static<typeof StartMonthEnd>

export const MOST_ARMED = 500

/** Request of enforce-pool for the SIMs that it has picked. */
export const ArmRequest = strictObject({
  simIds: Type.Array(Id('SIM'), { minItems: 1, maxItems: MOST_ARMED, description: 'The SIMs' }),
  poolId: optional(Id('The pool that stops them; with overLimit the SIMs are recorded as armed by it in the cycle')),
  cycle: CycleKey,
  rule: Rule,
  ruleFile: Type.String({ maxLength: 300 }),
  grace: Grace,
  until: UntilField,
  signal: oneOf(ALERT_SIGNALS, 'Signal to the SIMs’ workflows'),
})
export type ArmRequest = Static<typeof ArmRequest>

export const ArmedQuery = Type.Object({
  cycle: CycleKey,
  afterSimId: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'SIMs with a higher id' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_ARMED, description: 'Most SIMs; default 500' })),
})
export type ArmedQuery = Static<typeof ArmedQuery>

/** SIMs that a pool's enforcement has armed in a cycle. */
export const ArmedSims = strictObject({
  simIds: Type.Array(Id('SIM'), { description: 'By id' }),
  nextAfterSimId: nullable(Type.Integer({ description: 'Request SIMs after this one; null on the last page' })),
})
export type ArmedSims = Static<typeof ArmedSims>

export const STATUSES = ['running', 'completed', 'failed', 'cancelled', 'terminated', 'timedOut'] as const
export type RunStatus = (typeof STATUSES)[number]
const Status = oneOf(STATUSES, 'Status')

export const StartResponse = strictObject({
  workflowId: Type.String(),
  runId: Type.String({ description: 'Empty if Temporal has no data on the run, no longer or not yet' }),
  status: Status,
})

export const WorkflowInfo = strictObject({
  workflowId: Type.String(),
  runId: Type.String(),
  type: Type.String(),
  status: Status,
  startedAt: Instant('Start of the latest run; a long workflow has several'),
  closedAt: nullable(Instant('Time of the end; null while it runs')),
  state: Type.Unknown({
    description:
      "The workflow's own state, with `steps` and `waitsFor`. In a list, or without a worker to answer: only " +
      'the last state word, or null',
  }),
  input: Type.Unknown({ description: 'Input of the workflow' }),
  result: Type.Unknown({ description: 'Result of the workflow; null while it runs, or after a failure' }),
  failure: Type.Union([strictObject({ code: Type.String(), detail: Type.String() }), Type.Null()]),
})
export type WorkflowInfo = Static<typeof WorkflowInfo>

export const WorkflowQuery = Type.Object({
  type: Type.Optional(oneOf(WORKFLOW_TYPES, 'Type')),
  status: Type.Optional(Status),
  simId: Type.Optional(Id('Workflows of this SIM')),
  poolId: Type.Optional(Id('Workflows of this pool')),
  cycle: Type.Optional(CycleKey),
  state: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 50,
      description: 'Its state word: a lasting state, such as suspended, or its outcome',
      examples: ['suspended'],
    }),
  ),
  ...pageQuery,
})
export type WorkflowQuery = Static<typeof WorkflowQuery>

const Fault = (description: string) =>
  Type.Union(
    [
      strictObject({
        code: Type.String({ description: "The service's stable code; timeout; internal_error" }),
        detail: Type.String({ description: 'Text for people' }),
      }),
      Type.Null(),
    ],
    { description },
  )
const WhenOrNull = (description: string) => nullable(Instant(description))

/** Temporal's data on a stuck run, which explains why it is stuck. */
export const WorkflowPending = strictObject({
  workflowId: Type.String(),
  runId: Type.String(),
  status: Status,
  workers: Count('Workers that polled for its tasks in the last 70 seconds; 0: no worker runs'),
  task: Type.Union(
    [
      strictObject({
        attempt: Count('From 1; a higher number shows that workers fail on it'),
        scheduledAt: WhenOrNull('Time when it was scheduled'),
        lastFailure: Fault('Failure of the previous attempts; null for the first'),
      }),
      Type.Null(),
    ],
    { description: "Next task for a worker in the workflow's own code; null while the workflow waits" },
  ),
  activities: Type.Array(
    strictObject({
      activityId: Type.String(),
      type: Type.String({ description: 'Name of the activity' }),
      status: oneOf(['waiting', 'running'], 'waiting: for a worker, or for the next attempt'),
      attempt: Count('From 1'),
      scheduledAt: WhenOrNull('Time when it was scheduled'),
      startedAt: WhenOrNull('Start of the last attempt; null before the first'),
      heartbeatAt: WhenOrNull('Last heartbeat; null without heartbeats'),
      nextAttemptAt: WhenOrNull('Time of the next attempt; null while an attempt runs or waits for a worker'),
      lastFailure: Fault('Failure of the last attempt; null: none failed'),
    }),
    { description: 'Scheduled activities without a result' },
  ),
  children: Type.Array(strictObject({ workflowId: Type.String(), runId: Type.String(), type: Type.String() }), {
    description: 'Child workflows it waits for',
  }),
})
export type WorkflowPending = Static<typeof WorkflowPending>
