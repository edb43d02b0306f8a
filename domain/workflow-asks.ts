/** What the internal interface takes to start workflows, and how it shows them. */
import { type Static, Type } from 'typebox'
import { DURATION_PATTERN } from './duration.ts'
import { WORKFLOW_TYPES } from './lifecycle.ts'
import { pageQuery } from './page.ts'
import { Id, Instant, nullable, optional, strictObject } from './schema.ts'

const Rule = Type.String({ minLength: 1, maxLength: 100, description: 'Name of the rule that asks' })
const CycleKey = Type.String({ minLength: 1, maxLength: 32, description: 'Key of a billing cycle' })
const Grace = Type.String({ pattern: DURATION_PATTERN, description: 'ISO 8601 duration; PT0S acts at once' })
const Until = Type.Unsafe<'renewal' | 'manual'>({
  type: 'string',
  enum: ['renewal', 'manual'],
  description: 'renewal: comes back with the next cycle; manual: stays until a person acts',
})

export const StartProvision = strictObject({
  simId: optional(Id('The SIM; or give iccid')),
  iccid: optional(Type.String({ pattern: '^\\d{18,22}$', description: 'The SIM; or give simId' })),
  poolId: optional(Id('Target pool; left out: none')),
  tariffId: optional(Id('Tariff of its own; left out: none')),
  tag: optional(Type.String({ maxLength: 128, description: 'Tag to apply with the provisioning' })),
})
export type StartProvision = Static<typeof StartProvision>

export const StartSuspend = strictObject({
  simId: Id('The SIM'),
  cycle: optional(CycleKey),
  rule: optional(Rule),
  grace: optional(Grace),
  until: Type.Optional(Type.Union([Until, Type.Null()])),
})
export type StartSuspend = Static<typeof StartSuspend>

export const StartMonthEnd = strictObject({
  cycle: optional(CycleKey),
  dryRun: optional(Type.Boolean({ description: 'Answer what would be done, and change nothing' })),
})
export type StartMonthEnd = Static<typeof StartMonthEnd>

/** What enforce-pool asks for each SIM it has picked. */
export const ArmAsk = strictObject({
  simId: Id('The SIM'),
  cycle: CycleKey,
  rule: Rule,
  ruleFile: Type.String({ maxLength: 300 }),
  grace: Grace,
  until: Until,
  signal: Type.Unsafe<'overLimit' | 'cleared'>({ type: 'string', enum: ['overLimit', 'cleared'] }),
})
export type ArmAsk = Static<typeof ArmAsk>

export const STATUSES = ['running', 'completed', 'failed', 'cancelled', 'terminated', 'timedOut'] as const
const Status = Type.Unsafe<(typeof STATUSES)[number]>({ type: 'string', enum: [...STATUSES], description: 'Status' })

export const StartAnswer = strictObject({
  workflowId: Type.String(),
  runId: Type.String({ description: 'Empty where Temporal has forgotten the run' }),
  status: Status,
})

export const WorkflowInfo = strictObject({
  workflowId: Type.String(),
  runId: Type.String(),
  type: Type.String(),
  status: Status,
  startedAt: Instant('When it started'),
  closedAt: nullable(Instant('When it ended; null while it runs')),
  state: Type.Any({ description: "The workflow's own view of where it stands; null where it cannot be asked" }),
  input: Type.Any({ description: 'What it was started with' }),
  result: Type.Any({ description: 'What it ended with; null while it runs or where it failed' }),
  failure: Type.Union([strictObject({ code: Type.String(), detail: Type.String() }), Type.Null()]),
})

export const WorkflowQuery = Type.Object({
  type: Type.Optional(
    Type.Unsafe<(typeof WORKFLOW_TYPES)[number]>({ type: 'string', enum: [...WORKFLOW_TYPES], description: 'Type' }),
  ),
  status: Type.Optional(Status),
  simId: Type.Optional(Id('Workflows of this SIM')),
  poolId: Type.Optional(Id('Workflows of this pool')),
  cycle: Type.Optional(CycleKey),
  ...pageQuery,
})
export type WorkflowQuery = Static<typeof WorkflowQuery>
