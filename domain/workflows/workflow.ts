/** Requests of the internal interface that start workflows, and how it shows runs. */

import { type Static, Type } from 'typebox'
import { Until } from '../enforcement/enforcement.ts'
import { pageQuery } from '../page.ts'
import { Count, Iccid, Id, Instant, nullable, objectWithExample, oneOf, optional, strictObject } from '../schema.ts'
import { Tag } from '../sims/sim.ts'
import { WORKFLOW_TYPES } from '../temporal/ids.ts'
import { ALERT_SIGNALS } from '../temporal/signals.ts'
import { DURATION_PATTERN } from '../time/duration.ts'

const Rule = Type.String({ minLength: 1, maxLength: 100, description: 'Name of the rule that asks' })
const CycleKey = Type.String({ minLength: 1, maxLength: 32, description: 'Key of a billing cycle' })
const Grace = Type.String({ pattern: DURATION_PATTERN, description: 'ISO 8601 duration; PT0S acts at once' })
const UntilField = Until('renewal: comes back with the next cycle; manual: stays until a person acts')

export const StartProvision = objectWithExample(
  {
    simId: optional(Id('The SIM; or give iccid')),
    iccid: optional(Iccid('ICCID of the SIM, or give simId')),
    poolId: optional(Id('Target pool; left out: none')),
    tariffId: optional(Id('Tariff of its own; left out: none')),
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
  poolId: optional(Id('The pool that stops them: with overLimit it is kept that it has armed them in the cycle')),
  cycle: CycleKey,
  rule: Rule,
  ruleFile: Type.String({ maxLength: 300 }),
  grace: Grace,
  until: UntilField,
  signal: oneOf(ALERT_SIGNALS, 'What the pool wants of them now'),
})
export type ArmRequest = Static<typeof ArmRequest>

export const ArmedQuery = Type.Object({
  cycle: CycleKey,
  afterSimId: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Only SIMs with a greater id' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_ARMED, description: 'Most SIMs; default 500' })),
})
export type ArmedQuery = Static<typeof ArmedQuery>

/** SIMs that a pool's enforcement has armed in a cycle. */
export const ArmedSims = strictObject({
  simIds: Type.Array(Id('SIM'), { description: 'By id' }),
  nextAfterSimId: nullable(Type.Integer({ description: 'Where the next page begins; null on the last' })),
})
export type ArmedSims = Static<typeof ArmedSims>

export const STATUSES = ['running', 'completed', 'failed', 'cancelled', 'terminated', 'timedOut'] as const
export type RunStatus = (typeof STATUSES)[number]
const Status = oneOf(STATUSES, 'Status')

export const StartResponse = strictObject({
  workflowId: Type.String(),
  runId: Type.String({ description: 'Empty where Temporal has forgotten the run, or has yet to hear of it' }),
  status: Status,
})

export const WorkflowInfo = strictObject({
  workflowId: Type.String(),
  runId: Type.String(),
  type: Type.String(),
  status: Status,
  startedAt: Instant('When its latest run started; a long workflow goes on in several'),
  closedAt: nullable(Instant('When it ended; null while it runs')),
  state: Type.Unknown({
    description:
      "The workflow's own view of where it stands, with `steps` and `waitsFor`. In a list, and where no worker answers, " +
      'only the word it has shown last, or null',
  }),
  input: Type.Unknown({ description: 'What it was started with' }),
  result: Type.Unknown({ description: 'What it ended with; null while it runs or where it failed' }),
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
      description: 'The word it shows of itself: a state that lasts, such as suspended, or its outcome',
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
        detail: Type.String({ description: 'For people' }),
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
  workers: Count('Workers that have asked for its tasks in the last 70 seconds; 0: none runs'),
  task: Type.Union(
    [
      strictObject({
        attempt: Count('From 1; more says that workers fail on it'),
        scheduledAt: WhenOrNull('When it was put up'),
        lastFailure: Fault('Why the attempts before failed; null for the first'),
      }),
      Type.Null(),
    ],
    { description: "What a worker has to do next in the workflow's own code; null while the workflow waits" },
  ),
  activities: Type.Array(
    strictObject({
      activityId: Type.String(),
      type: Type.String({ description: 'Its name' }),
      status: oneOf(['waiting', 'running'], 'waiting: for a worker, or for its next attempt'),
      attempt: Count('From 1'),
      scheduledAt: WhenOrNull('When it was asked for'),
      startedAt: WhenOrNull('When the last attempt began; null before the first'),
      heartbeatAt: WhenOrNull('Its last sign of life; null where it gives none'),
      nextAttemptAt: WhenOrNull('When it is tried again; null while an attempt runs or waits for a worker'),
      lastFailure: Fault('Why the last attempt failed; null where none has'),
    }),
    { description: 'What it has asked for and waits to see done' },
  ),
  children: Type.Array(strictObject({ workflowId: Type.String(), runId: Type.String(), type: Type.String() }), {
    description: 'Workflows of its own that it waits for',
  }),
})
export type WorkflowPending = Static<typeof WorkflowPending>
