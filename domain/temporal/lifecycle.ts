/**
 * Workflow ids, inputs, states, signals and queries: what the API, the worker and the workflows agree on.
 *
 * Imports nothing: enters the workflow bundle. Everything that crosses is plain JSON; instants are
 * ISO 8601 in UTC, durations ISO 8601 (`PT15M`), ids numbers. Workflows read no settings and no clock
 * of their own: the API puts cycle ends and durations into the input.
 */

export const WORKFLOW_TYPES = [
  'provision-and-activate',
  'provision-in-bulk',
  'suspend-on-overage',
  'enforce-pool',
  'undo-suspensions',
  'month-end-reprovision',
  'month-end-batch',
  'month-end-plan',
  'month-end-timer',
] as const
export type WorkflowType = (typeof WORKFLOW_TYPES)[number]

/** Task queue of workflows and short activities. */
export const TASK_QUEUE = 'simherd'
/** Task queue of the activity that waits for tickets: many slots, so that a carrier's outage starves nothing else. */
export const WAITING_TASK_QUEUE = 'simherd-waiting'

export const provisionAndActivateId = (tenantId: string, simId: number) => `provision-and-activate:${tenantId}:${simId}`
export const provisionInBulkId = (tenantId: string, batchId: string) => `provision-in-bulk:${tenantId}:${batchId}`
export const suspendOnOverageId = (tenantId: string, simId: number, cycleKey: string) =>
  `suspend-on-overage:${tenantId}:${simId}:${cycleKey}`
export const enforcePoolId = (tenantId: string, poolId: number, cycleKey: string) =>
  `enforce-pool:${tenantId}:${poolId}:${cycleKey}`
/** @param n tells the undoing of one span of time from that of another: the span */
export const undoSuspensionsId = (tenantId: string, rule: string, n: string) =>
  `undo-suspensions:${tenantId}:${rule}:${n}`
export const monthEndId = (tenantId: string, cycleKey: string) => `month-end-reprovision:${tenantId}:${cycleKey}`
/** @param run tells the batches of one run of a month end from those of another, @param batch names it within the run */
export const monthEndBatchId = (tenantId: string, cycleKey: string, run: string, batch: string) =>
  `month-end-batch:${tenantId}:${cycleKey}:${run}:${batch}`
export const monthEndPlanId = (tenantId: string, cycleKey: string, n: number) =>
  `month-end-plan:${tenantId}:${cycleKey}:${n}`
export const monthEndTimerId = (tenantId: string) => `month-end-timer:${tenantId}`
/** Id of a tenant's Temporal Schedule. */
export const monthEndScheduleId = (tenantId: string) => `month-end:${tenantId}`

/** What a run is about: the part of its input that lists are filtered by. */
export interface LifecycleSubject {
  readonly tenantId: string
  readonly simId?: number
  readonly poolId?: number
  readonly cycleKey?: string
  /** A batch of SIMs: of the run that works it off, and of the runs that it starts. */
  readonly batchId?: string
}

/** Search attributes: what Temporal's lists and UI can be filtered by. */
export const SEARCH_ATTRIBUTES = {
  tenant: { name: 'SimherdTenant', type: 'KEYWORD' },
  simId: { name: 'SimId', type: 'INT' },
  poolId: { name: 'PoolId', type: 'INT' },
  cycle: { name: 'Cycle', type: 'KEYWORD' },
  batchId: { name: 'BatchId', type: 'KEYWORD' },
  state: { name: 'SimherdState', type: 'KEYWORD' },
} as const

/** A line for Temporal's lists: what a run is about. */
const summaryOf = ({ simId, poolId, cycleKey, batchId }: LifecycleSubject): string =>
  [
    ...(simId === undefined ? [] : [`SIM ${simId}`]),
    ...(poolId === undefined ? [] : [`pool ${poolId}`]),
    ...(cycleKey === undefined ? [] : [`cycle ${cycleKey}`]),
    ...(batchId === undefined ? [] : [`batch ${batchId}`]),
  ].join(', ')

/** What each type does, for people who look at a run in Temporal's own page. */
const PURPOSE: Readonly<Record<WorkflowType, string>> = {
  'provision-and-activate':
    'Takes a SIM from Unprovisioned to Active by tickets. Undone where a step fails for good, or it is cancelled.',
  'provision-in-bulk': 'Takes the SIMs of a batch from Unprovisioned to Active, a run of its own for each.',
  'suspend-on-overage':
    'Suspends a SIM that is over its limit, and brings it back: with the renewal, or before. Cancelled, it leaves the SIM as it is.',
  'enforce-pool': 'Picks the SIMs to stop in a pool that is over its capacity, until the cycle ends.',
  'undo-suspensions': 'Brings back what one rule has suspended since a time.',
  'month-end-reprovision':
    'Ends a billing cycle: queued changes, SIMs that come back, the statement. Running it twice changes nothing.',
  'month-end-batch': 'Some of the SIMs of a month end.',
  'month-end-plan': 'A dry run of a month end: changes nothing.',
  'month-end-timer': 'Started when a billing cycle ends: has its month end run, those left out before it first.',
}
const typeOf = (workflowId: string): WorkflowType | undefined =>
  WORKFLOW_TYPES.find((type) => workflowId.startsWith(`${type}:`))

/** What a Schedule puts behind the id of what it starts: the instant that it means. */
const SCHEDULED_AT = /-\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** Whose a workflow is: every id says it behind the type. Undefined for what is no id of ours. */
export function tenantOfWorkflow(workflowId: string): string | undefined {
  if (typeOf(workflowId) === undefined) return undefined
  return workflowId.replace(SCHEDULED_AT, '').split(':')[1] || undefined
}

/** Markdown: what a run is for, and where more of it is told. */
function purposeOf(workflowId: string): string {
  const type = typeOf(workflowId)
  return `${type === undefined ? '' : `${PURPOSE[type]}\n\n`}Steps, tickets and waits: \`simherd workflows show ${workflowId}\``
}

/** How a run is started, so that it is listed and shown alike whether the service starts it or another run does. */
export function startOf<T extends LifecycleSubject>(workflowId: string, input: T) {
  const { tenantId, simId, poolId, cycleKey, batchId } = input
  const { tenant, simId: sim, poolId: pool, cycle, batchId: batch } = SEARCH_ATTRIBUTES
  return {
    workflowId,
    taskQueue: TASK_QUEUE,
    args: [input] satisfies [T],
    memo: { input },
    staticSummary: summaryOf(input),
    staticDetails: purposeOf(workflowId),
    typedSearchAttributes: [
      { key: tenant, value: tenantId },
      ...(simId === undefined ? [] : [{ key: sim, value: simId }]),
      ...(poolId === undefined ? [] : [{ key: pool, value: poolId }]),
      ...(cycleKey === undefined ? [] : [{ key: cycle, value: cycleKey }]),
      ...(batchId === undefined ? [] : [{ key: batch, value: batchId }]),
    ],
  }
}

/** How often a waiting activity asks for a ticket, and how long it may take. */
export interface Waits {
  /** First and longest pause between two looks at a ticket. */
  readonly pollMin: string
  readonly pollMax: string
}

/** A step of a workflow that has ended, well or not. */
export interface StepDone {
  /** Its name within the run; what comes back has a number: `suspend/2`. */
  readonly step: string
  readonly at: string
  /** `complete`, or why not, for people. */
  readonly outcome: string
  readonly ticketId: string | null
}
/** What a workflow waits for. */
export interface WaitsFor {
  /** In words: `ticket 7f3…`, `the end of the grace period`. */
  readonly what: string
  /** When it goes on at the latest; null where only an event ends the wait. */
  readonly until: string | null
  readonly why: string
}
/** What the state of every workflow has, beside fields of its own. */
export interface LifecycleView {
  /** The newest 40, in their order. */
  readonly steps: readonly StepDone[]
  readonly waitsFor: WaitsFor | null
}

export interface ProvisionAndActivateInput {
  readonly tenantId: string
  readonly simId: number
  readonly poolId?: number
  readonly tariffId?: number
  readonly tag?: string
  /** The batch it is started for. */
  readonly batchId?: string
  readonly waits: Waits
}
export interface ProvisionAndActivateState extends LifecycleView {
  readonly step: 'checking' | 'provisioning' | 'activating' | 'compensating' | 'done'
  readonly provisionTicket: string | null
  readonly activateTicket: string | null
  readonly unassignTicket: string | null
}
export interface ProvisionAndActivateResult {
  readonly outcome: 'activated' | 'alreadyActive' | 'compensated' | 'cancelled' | 'failed'
  /** What failed and why: the step, its ticket and the ticket's stable failure code and text. */
  readonly failure: {
    readonly step: string
    readonly ticketId: string | null
    readonly code: string
    readonly detail: string
  } | null
  readonly provisionTicket: string | null
  readonly activateTicket: string | null
  readonly unassignTicket: string | null
}

export interface ProvisionInBulkInput {
  readonly tenantId: string
  readonly batchId: string
  /** Most SIMs under way at once, 1 to 200. */
  readonly parallel: number
  /** SIMs read at once of the batch's list. */
  readonly pageSize: number
  /** SIMs that one run starts before it continues as new. */
  readonly perRun: number
  readonly waits: Waits
}
/** SIMs of a batch by what has become of them: their sum is the batch. */
export type BatchCounts = Readonly<Record<'waiting' | 'running' | ProvisionAndActivateResult['outcome'], number>>
export interface ProvisionInBulkState extends LifecycleView {
  readonly total: number
  readonly counts: BatchCounts
  /** Those that have not ended. */
  readonly left: number
  /** SIMs that end in a second, of late; 0 where that cannot be told yet. */
  readonly ratePerSecond: number
  /** Null where that cannot be told yet. */
  readonly estimatedEndAt: string | null
}
export interface ProvisionInBulkResult {
  readonly outcome: 'done' | 'doneWithFailures' | 'cancelled'
  readonly total: number
  readonly counts: BatchCounts
  /** Of the SIMs that failed or were compensated, the first 100 of the list. */
  readonly failures: readonly BatchFailure[]
}
/** A SIM of a batch that did not become Active. */
export interface BatchFailure {
  readonly index: number
  readonly simId: number
  readonly outcome: 'failed' | 'compensated'
  readonly step: string | null
  readonly ticketId: string | null
  readonly code: string | null
  readonly detail: string | null
}

export interface SuspendOnOverageInput {
  readonly tenantId: string
  readonly simId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** Name of the rule that asks; null when a person started it. */
  readonly rule: string | null
  readonly ruleFile: string | null
  /** How long the SIM may stay over its limit; `PT0S` suspends at once. */
  readonly grace: string
  /** `renewal`: comes back with the next cycle. `manual`: stays until a person acts. */
  readonly until: 'renewal' | 'manual'
  /**
   * Started again under its id after the last run failed, was cancelled or terminated: it begins by looking at
   * the SIM, and owns its return where the last run had suspended it.
   */
  readonly takeOver?: true
  readonly waits: Waits
}
export interface SuspendOnOverageState extends LifecycleView {
  readonly phase: 'idle' | 'grace' | 'held' | 'suspending' | 'suspended' | 'activating' | 'ended'
  /** End of the grace period; null when none runs. */
  readonly graceEndsAt: string | null
  /** How long a suspension of this run lasts: as it was asked for, or as a person has decided since. */
  readonly until: 'renewal' | 'manual'
  readonly suspendTickets: readonly string[]
  readonly activateTickets: readonly string[]
  /** Why it is in this phase. */
  readonly reason: string
}
export interface SuspendOnOverageResult {
  readonly outcome: 'renewed' | 'released' | 'resumed' | 'personActed' | 'manual' | 'cancelled' | 'failed'
  readonly suspended: number
  readonly broughtBack: number
  readonly failure: { readonly step: string; readonly code: string; readonly detail: string } | null
}
/** Signals of suspend-on-overage. */
export type SuspendSignal =
  | 'overLimit'
  | 'cleared'
  | 'standDown'
  | 'personActed'
  | 'renewed'
  | 'guardReleased'
  | 'guardDiscarded'
/** Updates of suspend-on-overage, each with its one argument. */
export interface SuspendUpdates {
  /** Brings the SIM back, and not again in this cycle. */
  readonly resume: Readonly<Record<string, never>>
  /** `manual`, where nothing is said: the SIM stays suspended beyond the renewal. `renewal` takes that back. */
  readonly keepSuspended: { readonly until?: 'renewal' | 'manual' | null }
  /** A longer grace, by a duration or until an instant: one of the two. */
  readonly extendGrace: { readonly by?: string | null; readonly until?: string | null }
}
/** What each update of suspend-on-overage answers: where the workflow stands with it. */
export type SuspendUpdateResult = Pick<SuspendOnOverageState, 'phase' | 'graceEndsAt' | 'until' | 'reason'>

export interface EnforcePoolInput {
  readonly tenantId: string
  readonly poolId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  readonly rule: string
  readonly ruleFile: string
  readonly target: 'self' | 'largestExcess' | 'aboveShare' | 'all'
  readonly grace: string
  readonly until: 'renewal' | 'manual'
}
export interface EnforcePoolState extends LifecycleView {
  readonly armed: readonly number[]
  readonly rounds: number
  readonly over: boolean
  /** Whether all that may be stopped does not cover the overage. */
  readonly tooLittle: boolean
  /** SIMs it has picked that wait for the release or discard of the guard's hold; null where none waits. */
  readonly held: number
  readonly holdId: number | null
}
/** Signals of enforce-pool. */
export type EnforcePoolSignal = 'overLimit' | 'cleared' | 'standDown' | 'guardReleased' | 'guardDiscarded'

export interface UndoSuspensionsInput {
  readonly tenantId: string
  readonly rule: string
  /** What was suspended from here on. */
  readonly since: string
  /** And before: where nothing was said, when it was asked for. */
  readonly until: string
  /** SIMs that are worked through at once. */
  readonly pageSize: number
  /** Pages that one run works through before it continues as new. */
  readonly perRun: number
  readonly waits: Waits
}
export interface UndoSuspensionsResult {
  readonly outcome: 'done' | 'doneWithFailures' | 'cancelled'
  /** SIMs that the rule had suspended or was about to, when it began. */
  readonly found: number
  readonly done: number
  readonly failed: number
  /** The first 100, by SIM id. */
  readonly failures: readonly { readonly simId: number; readonly code: string; readonly detail: string }[]
}
export interface UndoSuspensionsState extends LifecycleView, Omit<UndoSuspensionsResult, 'outcome'> {
  readonly left: number
  /** SIMs a second, of late. */
  readonly ratePerSecond: number
  /** Null while it cannot be told. */
  readonly estimatedEndAt: string | null
  /** SIMs up to this one are behind it. */
  readonly afterSimId: number
}

export interface MonthEndInput {
  readonly tenantId: string
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** How long after its end the cycle is closed. */
  readonly closeAfter: string
  /** SIMs of a batch, 1 to 500. */
  readonly pageSize: number
  /** Batches under way at once. */
  readonly parallel: number
  /** Batches that one run starts before it continues as new. */
  readonly perRun: number
  readonly waits: Waits
  /** Where a continued run goes on; absent on the first. */
  readonly carried?: MonthEndCarried
}
/** What the month end of a cycle can be asked for while it runs: Temporal's updates. */
export interface MonthEndUpdates {
  /** Opens tickets again for what has failed and is still queued; until the cycle is closed. */
  readonly retryFailedChanges: Readonly<Record<string, never>>
}
export interface RetryFailedResult {
  /** Tickets opened, and changes that were refused again. */
  readonly opened: number
  readonly refused: number
}
/** A month end is settling while it waits for the ends of tickets, and in `close` from then on. */
export type MonthEndStep = 'waiting' | 'unassign' | 'move' | 'renew' | 'settle' | 'close' | 'done'
/** The SIMs of a step: `total` is the sum of `done`, `failed` and `left`. */
export interface StepFigures {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly left: number
  /** SIMs done or failed in a second since the step began; 0 where that cannot be told yet. */
  readonly ratePerSecond: number
  /** Null where that cannot be told yet, or nothing is left. */
  readonly estimatedEndAt: string | null
}
/** The steps that go over SIMs. */
export type MonthEndWork = 'unassign' | 'move' | 'renew'
export interface MonthEndState extends LifecycleView {
  readonly step: MonthEndStep
  readonly progress: Readonly<Record<MonthEndWork, StepFigures>>
}
/** What a continued run takes over. */
export interface MonthEndCarried {
  readonly step: MonthEndStep
  /** Within the step: SIMs up to this one have been begun. */
  readonly afterSimId: number
  readonly view: LifecycleView
  readonly looks: Readonly<Record<MonthEndWork, WorkLooks>>
  /** When SIMs were first told of the renewal, epoch milliseconds; null before. */
  readonly renewedAt: number | null
  /** Whether SIMs whose unassignment failed have been told of it too. */
  readonly renewedAgain: boolean
  readonly retries: number
  /** Batches that could not be worked off: the month end does not close over them. */
  readonly broken: readonly string[]
}
/** SIMs of a step as they stood. */
export interface WorkCounts {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly left: number
}
/** The first and the last look at a step; instants in epoch milliseconds. */
export interface WorkLooks {
  readonly first: { readonly at: number; readonly ended: number } | null
  readonly last: WorkCounts & { readonly at: number }
}
export interface MonthEndResult {
  readonly moved: number
  readonly unassigned: number
  readonly changesFailed: number
  readonly renewed: number
  /** False where the cycle had nothing to close but a row. */
  readonly statement: boolean
}
/** A batch of a month end: SIMs with ids above one and up to another. */
export interface MonthEndBatchInput {
  readonly tenantId: string
  readonly cycleKey: string
  readonly kind: MonthEndWork
  readonly afterSimId: number
  readonly throughSimId: number
  readonly count: number
}
export interface MonthEndBatchState extends LifecycleView {
  readonly kind: MonthEndWork
  readonly total: number
  readonly opened: number
  readonly refused: number
  readonly signalled: number
}
/** Tickets opened and refused; workflows that were told to bring their SIM back. */
export type MonthEndBatchResult = Pick<MonthEndBatchState, 'opened' | 'refused' | 'signalled'>
export interface MonthEndPlanInput {
  readonly tenantId: string
  readonly cycleKey: string
}
export interface MonthEndTimerInput {
  readonly tenantId: string
  /** Comes with the Schedule: it is fixed when the tenant is created. */
  readonly billingCycle: string
  /** What a continued run takes over. */
  readonly carried?: MonthEndTimerCarried
}
export interface MonthEndTimerCarried {
  /** Keys of cycles whose month ends are still to be run, in their order. */
  readonly left: readonly string[]
  /** Those that have been run: the last 100. */
  readonly cycles: readonly { readonly cycle: string; readonly status: string }[]
  readonly failed: readonly string[]
}

/** What the service asks Temporal to do after a commit. */
export type OutboxRequest = WorkflowRequest | WorkflowStart
export interface WorkflowStart {
  readonly do: 'start'
  readonly type: 'provision-in-bulk'
  readonly workflowId: string
  readonly input: ProvisionInBulkInput
}
/** Signals of enforcement. */
export type WorkflowRequest =
  | {
      readonly do: 'signalWithStart'
      readonly type: 'suspend-on-overage'
      readonly workflowId: string
      readonly input: SuspendOnOverageInput
      readonly signal: SuspendSignal
    }
  | {
      readonly do: 'signalWithStart'
      readonly type: 'enforce-pool'
      readonly workflowId: string
      readonly input: EnforcePoolInput
      readonly signal: EnforcePoolSignal
    }
  | {
      readonly do: 'signal'
      readonly workflowId: string
      readonly signal: SuspendSignal | EnforcePoolSignal
    }
