/**
 * Signals workflows when an alert with a desired suspension fires, clears, or may no longer be acted on.
 *
 * Level-triggered: the wish is compared with the last signal, and the difference is sent, in the transaction that
 * writes the alert. If a rule may not suspend, the suspension that it would cause is put on a list, and logged
 * afterwards.
 */

import { SimStatus } from '../../domain/codes.ts'
import { enforcePoolId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import { type AlertSignal, isOrdered } from '../../domain/temporal/signals.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { StoredAlert } from '../../rules/alerts/alert-state.ts'
import type { Wish } from '../../rules/alerts/decide-alert.ts'
import type { AlertSubject, Decisions, Evaluation, Withdrawal } from '../../rules/alerts/decide-all.ts'
import type { DecidedAlert } from '../../rules/alerts/decide-subject.ts'
import { firedMessage } from '../../rules/alerts/message.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import type { SubjectFacts } from '../../rules/alerts/subject.ts'
import type { Suspend } from '../../rules/rule-file.ts'
import { rememberStarts, requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { endPermits, lockGuard } from '../enforcement/rows/permits.ts'
import { noteWould, type WouldSuspendRow } from '../enforcement/rows/would.ts'
import type { EvaluationOptions } from './evaluation-options.ts'
import type { EvaluationBatch, Situation } from './read-batch.ts'

/** `would`: only logged, as a suspension that would have happened. The others are signals. */
type Signal = AlertSignal | 'would'

/** A wish about a subject, and the requests before it. */
interface SignalWish {
  readonly wish: Wish
  readonly permission: Permission['suspend']
  /** The rule is older than the one that should be in force, and its stage must not take a suspension back. */
  readonly keep: boolean
  readonly stored: Pick<StoredAlert, 'lastSignal' | 'lastSignalAt'> | null
  /** Of a SIM; null for another or a removed subject. */
  readonly sim: { readonly status: SimStatus; readonly statusSince: Date } | null
  /** Whether to signal again while it lasts: a pool's usage grows, and its workflow picks SIMs again. */
  readonly repeats: boolean
}

/** What a rule wishes; null: it never suspends. @param isRefused this build refuses the newest set: an older decides */
export function wishedOf(
  { outcome, decision, permission, stored }: DecidedAlert,
  subject: SubjectFacts,
  isRefused: boolean,
): SignalWish | null {
  const { suspend, stage } = outcome.rule.event.params
  if (suspend === undefined) return null
  return {
    wish: decision.wish,
    permission: permission.suspend,
    keep: isRefused && stage !== 'enforce',
    stored,
    sim: subject.kind === 'sim' ? subject.row : null,
    repeats: subject.kind === 'pool',
  }
}

type SignalMoment = Pick<Situation, 'moment' | 'enforcementEnabled'>

/** A pool still over is signalled again after a sixtieth of the cycle, or after a minute if that is shorter. */
const againAfterMs = ({ startsAt, endsAt }: Cycle): number => Math.min(60_000, (endsAt - startsAt) / 60)

/** The last signal of this cycle. Earlier ones do not count: the runs of a cycle end with it. */
const lastSignalIn = ({ startsAt }: Cycle, { stored }: SignalWish): string | null =>
  stored !== null && (stored.lastSignalAt?.getTime() ?? 0) >= startsAt ? stored.lastSignal : null

/** The signal to send now; undefined if nothing has changed since the last one. */
export function signalFor(wished: SignalWish, { moment, enforcementEnabled }: SignalMoment): Signal | undefined {
  const { at, cycle } = moment
  const before = lastSignalIn(cycle, wished)
  if (wished.wish === 'keep') {
    // A person may have removed the permission to suspend, regardless of the alert.
    const isBarred = !wished.keep && (wished.permission !== 'do' || !enforcementEnabled)
    return isOrdered(before) && at < cycle.endsAt && isBarred ? 'standDown' : undefined
  }
  const wanted = wantedFor(wished, enforcementEnabled)
  if (isOrdered(before) && wanted !== 'overLimit') {
    if (wished.wish === 'clear') return 'cleared'
    return wished.keep ? undefined : 'standDown'
  }
  if (wanted === undefined || wanted !== before) return wanted
  const lastSignalAt = wished.stored?.lastSignalAt?.getTime() ?? 0
  const isDue = wished.repeats ? at - lastSignalAt >= againAfterMs(cycle) : becameActive(wished, lastSignalAt)
  return isDue ? wanted : undefined
}

/** When to look again even if nothing happens; undefined if no signal is repeated. @param signalled one is sent now */
export function signalsAgainAt(
  wished: SignalWish,
  { moment, enforcementEnabled }: SignalMoment,
  signalled: boolean,
): number | undefined {
  if (!wished.repeats || wantedFor(wished, enforcementEnabled) === undefined) return undefined
  const last = signalled ? moment.at : wished.stored?.lastSignalAt?.getTime()
  return last === undefined ? undefined : last + againAfterMs(moment.cycle)
}

/** Whether a SIM became active after `since`. The earlier signal found it suspended, so it had no effect. */
const becameActive = ({ sim }: SignalWish, since: number): boolean =>
  sim !== null && sim.status === SimStatus.Active && sim.statusSince.getTime() > since

/** The signal that the alert calls for, regardless of earlier signals; undefined if the rule may not even log it. */
function wantedFor({ wish, permission }: SignalWish, enabled: boolean): 'overLimit' | 'would' | undefined {
  if (wish !== 'over' || permission === 'no') return undefined
  return permission === 'do' && enabled ? 'overLimit' : 'would'
}

export interface ReconcileResult {
  readonly sent: readonly SentSignal[]
  /** When to evaluate subjects even without a change, epoch milliseconds: a pool still over is signalled again. */
  readonly again: readonly { readonly about: AlertSubject; readonly at: number }[]
}

/** An alert whose rule asks to suspend, or did so before. */
interface DesiredSuspension extends SignalWish {
  readonly decided: Evaluation | Withdrawal
  readonly rule: { readonly name: string; readonly file: string }
  /** Null if the rule no longer covers the subject. */
  readonly suspend: Suspend | null
}

export interface SentSignal {
  readonly desired: DesiredSuspension
  readonly signal: Signal
}

/** The alerts of a batch that enforcement has to do with. */
function desiredOf({ evaluations, withdrawals }: Decisions, { isRefused }: EvaluationBatch): DesiredSuspension[] {
  const asking = evaluations.flatMap((decided): DesiredSuspension[] => {
    const { rule } = decided.outcome
    const wished = wishedOf(decided, decided.subject, isRefused)
    return wished === null ? [] : [{ ...wished, decided, rule, suspend: rule.event.params.suspend ?? null }]
  })
  const left = withdrawals.map((decided): DesiredSuspension => {
    const { stored, decision } = decided
    const rule = { name: stored.rule, file: '' }
    const wished = { wish: decision.wish, permission: 'no', keep: false, stored, sim: null, repeats: false } as const
    return { ...wished, decided, rule, suspend: null }
  })
  return [...asking, ...left]
}

/** Sends the differences. The signals sent are to be stored with the alerts. */
export async function reconcile(
  tx: TenantTx,
  batch: EvaluationBatch,
  decisions: Decisions,
  options: EvaluationOptions,
): Promise<ReconcileResult> {
  const all = desiredOf(decisions, batch)
  const sent = all.flatMap((desired) => {
    const signal = signalFor(desired, batch)
    return signal === undefined ? [] : [{ desired, signal }]
  })
  const signalled = new Set(sent.map(({ desired }) => desired))
  const again = all.flatMap((desired) => {
    if (options.asksOnceUnseen === true && signalled.has(desired)) return []
    const next = signalsAgainAt(desired, batch, signalled.has(desired))
    return next === undefined ? [] : [{ about: desired.decided.about, at: next }]
  })
  const requests = sent.flatMap(({ desired, signal }) => requestOf(batch, desired, signal) ?? [])
  await endClearedPermits(tx, batch.moment.cycle, all, sent)
  const starting = requests.filter(({ signal }) => signal === 'overLimit').map(({ workflowId }) => workflowId)
  const first = await rememberStarts(tx, starting)
  const asked = requests.map((request): WorkflowRequest => {
    const { workflowId, signal } = request
    return first.has(workflowId) ? request : { do: 'signal', workflowId, signal }
  })
  await requestWorkflows(tx, asked)
  await noteWould(tx, wouldOf(batch, sent))
  return { sent, again }
}

function requestOf(
  { tenantId, moment: { cycle } }: EvaluationBatch,
  { decided, rule, suspend }: DesiredSuspension,
  signal: Signal,
): WorkflowRequest | undefined {
  if (signal === 'would') return undefined
  const { kind, id } = decided.about
  const isPool = kind === 'pool'
  const workflowId = isPool ? enforcePoolId(tenantId, id, cycle.key) : suspendOnOverageId(tenantId, id, cycle.key)
  if (suspend === null || signal !== 'overLimit') return { do: 'signal', workflowId, signal }
  const { target, grace = 'PT0S', until } = suspend
  const inCycle = { tenantId, cycleKey: cycle.key, cycleEndsAt: new Date(cycle.endsAt).toISOString() }
  const input = { ...inCycle, rule: rule.name, ruleFile: rule.file, grace, until }
  const start = { do: 'signalWithStart', workflowId, signal } as const
  return isPool
    ? { ...start, type: 'enforce-pool', input: { ...input, poolId: id, target } }
    : { ...start, type: 'suspend-on-overage', input: { ...input, simId: id } }
}

/** Ends the permits of cleared alerts. If the watchdog stands down, withdraws the held ones. */
async function endClearedPermits(
  tx: TenantTx,
  cycle: Cycle,
  all: readonly DesiredSuspension[],
  sent: readonly SentSignal[],
): Promise<void> {
  const stoodDown = new Set(sent.filter(({ signal }) => signal === 'standDown').map(({ desired }) => desired))
  const over = all.flatMap((desired) => {
    const { id, kind } = desired.decided.about
    const isPool = kind === 'pool'
    // The last signal may be `standDown` or `would`: the watchdog may have stood down before the alert cleared.
    const last = lastSignalIn(cycle, desired)
    const wasFiring = desired.decided.stored?.firing === true
    const cleared = desired.wish === 'clear' && wasFiring && last !== null && last !== 'cleared'
    if (!cleared && !stoodDown.has(desired)) return []
    const [simId, poolId] = isPool ? [null, id] : [id, null]
    return [{ rule: desired.rule.name, cycleKey: cycle.key, simId, poolId, cleared }]
  })
  if (over.length === 0) return
  await lockGuard(tx)
  await endPermits(tx, over)
}

/** The suspensions that rules would cause, for the list worked off after the commit. */
const wouldOf = ({ rulesVersion, moment }: EvaluationBatch, sent: readonly SentSignal[]): WouldSuspendRow[] =>
  sent.flatMap(({ desired: { decided, suspend, rule }, signal }): WouldSuspendRow[] => {
    if (signal !== 'would' || suspend === null || !('subject' in decided)) return []
    const { about, outcome, subject } = decided
    const reason = firedMessage(outcome.rule, subject.facts)
    const common = { cycleKey: moment.cycle.key, ruleVersion: rulesVersion, target: suspend.target }
    return [{ kind: about.kind, id: about.id, rule: rule.name, ...common, reason }]
  })
