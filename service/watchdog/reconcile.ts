/**
 * Signals workflows when an alert with a desired suspension fires, clears, or may no longer be acted on.
 *
 * Level-triggered: the wish is compared with the last signal, and the difference is sent, in the transaction that
 * writes the alert. If a rule may not suspend, the suspension that it would cause is put on a list, and logged
 * afterwards.
 */

import { SimStatus } from '../../domain/codes.ts'
import type { EnforcePoolInput } from '../../domain/temporal/enforce-pool.ts'
import { enforcePoolId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import { type AlertSignal, isOrdered } from '../../domain/temporal/signals.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { StoredAlert } from '../../rules/alerts/alert-state.ts'
import type { Wish } from '../../rules/alerts/decide-alert.ts'
import type { AlertSubject, Decisions, Evaluation, Withdrawal } from '../../rules/alerts/decide-all.ts'
import { firedMessage } from '../../rules/alerts/message.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import type { SubjectFacts } from '../../rules/alerts/subject.ts'
import type { Rule } from '../../rules/rule.ts'
import type { Suspend } from '../../rules/rule-file.ts'
import { rememberStarts, requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { endPermits, lockGuard } from '../enforcement/rows/permits.ts'
import { noteWould, type WouldSuspendRow } from '../enforcement/rows/would.ts'
import { suspendInputOf } from '../enforcement/start-suspension.ts'
import type { EvaluationOptions } from './evaluation-options.ts'
import type { EvaluationBatch } from './read-facts.ts'

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

/** A rule, and its permission on a subject. */
interface Wishing {
  readonly rule: Rule
  readonly subject: SubjectFacts
  readonly permission: Permission
  readonly stored: SignalWish['stored']
  /** This build refuses the rule set that should be in force, so an older one decides. */
  readonly isRefused: boolean
}

/** The wish of a rule that covers a subject; null if it never suspends. */
export function wishedOf(wish: Wish, { rule, subject, permission, stored, isRefused }: Wishing): SignalWish | null {
  const { suspend, stage } = rule.event.params
  if (suspend === undefined) return null
  return {
    wish,
    permission: permission.suspend,
    keep: isRefused && stage !== 'enforce',
    stored,
    sim: subject.kind === 'sim' ? subject.row : null,
    repeats: subject.kind === 'pool',
  }
}

interface SignalMoment {
  readonly at: number
  readonly cycle: Cycle
  /** Whether enforcement is on for the tenant. */
  readonly enabled: boolean
}

/** A pool still over is signalled again after a sixtieth of the cycle, or after a minute if shorter. */
const MOST_AGAIN_MS = 60_000
const AGAIN_PARTS = 60
const againAfterMs = ({ startsAt, endsAt }: Cycle): number => Math.min(MOST_AGAIN_MS, (endsAt - startsAt) / AGAIN_PARTS)

/** The last signal of this cycle. Earlier ones do not count: the runs of a cycle end with it. */
function lastSignalSince(startsAt: number, { stored }: Pick<SignalWish, 'stored'>): string | null {
  return stored !== null && (stored.lastSignalAt?.getTime() ?? 0) >= startsAt ? stored.lastSignal : null
}

/** The signal to send now; undefined if nothing has changed since the last one. */
export function signalFor(wished: SignalWish, { at, cycle, enabled }: SignalMoment): Signal | undefined {
  const before = lastSignalSince(cycle.startsAt, wished)
  if (wished.wish === 'keep') {
    return isOrdered(before) && at < cycle.endsAt && isBarred(wished, enabled) ? 'standDown' : undefined
  }
  const wanted = wantedFor(wished, enabled)
  if (isOrdered(before) && wanted !== 'overLimit') {
    if (wished.wish === 'clear') return 'cleared'
    return wished.keep ? undefined : 'standDown'
  }
  if (wanted === undefined || wanted !== before) return wanted
  const lastSignalAt = wished.stored?.lastSignalAt?.getTime() ?? 0
  const isDue = wished.repeats ? at - lastSignalAt >= againAfterMs(cycle) : becameActive(wished, lastSignalAt)
  return isDue ? wanted : undefined
}

/** Whether a person has removed the watchdog's permission to suspend, regardless of the alert. */
const isBarred = ({ permission, keep }: SignalWish, enabled: boolean): boolean =>
  !keep && (permission !== 'do' || !enabled)

/** When to look again even if nothing happens; undefined if no signal is repeated. @param signalled one is sent now */
export function signalsAgainAt(wished: SignalWish, moment: SignalMoment, signalled: boolean): number | undefined {
  if (!wished.repeats || wantedFor(wished, moment.enabled) === undefined) return undefined
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

export interface SentSignal {
  readonly decided: Evaluation | Withdrawal
  readonly signal: Signal
}

/** The requests to enforcement, and when to ask again. */
export interface ReconcileResult {
  readonly sent: readonly SentSignal[]
  /**
   * When to evaluate subjects again even without a change, epoch milliseconds. A pool still over is signalled again.
   */
  readonly again: readonly { readonly about: AlertSubject; readonly at: number }[]
}

/** An alert whose rule asks to suspend, or did so before. */
interface DesiredSuspension extends SignalWish {
  readonly decided: Evaluation | Withdrawal
  readonly rule: { readonly name: string; readonly file: string }
  /** Null if the rule no longer covers the subject. */
  readonly suspend: Suspend | null
}

/** The alerts of a batch that enforcement has to do with. */
function desiredOf({ evaluations, withdrawals }: Decisions, { isRefused }: EvaluationBatch): DesiredSuspension[] {
  const asking = evaluations.flatMap((decided): DesiredSuspension[] => {
    const { subject, outcome, permission, decision, stored } = decided
    const { rule } = outcome
    const wished = wishedOf(decision.wish, { rule, subject, permission, stored, isRefused })
    return wished === null ? [] : [{ ...wished, decided, rule, suspend: rule.event.params.suspend ?? null }]
  })
  const left = withdrawals.map((decided): DesiredSuspension => {
    const { stored, decision } = decided
    const rule = { name: stored.rule, file: '' }
    const { wish } = decision
    return { decided, rule, suspend: null, wish, permission: 'no', keep: false, stored, sim: null, repeats: false }
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
  const { at, cycle } = batch.moment
  const moment: SignalMoment = { at, cycle, enabled: batch.enforcementEnabled }
  const all = desiredOf(decisions, batch)
  const sent = all.flatMap((desired) => {
    const signal = signalFor(desired, moment)
    return signal === undefined ? [] : [{ desired, signal }]
  })
  const signalled = new Set(sent.map(({ desired }) => desired))
  const again = all.flatMap((desired) => {
    if (options.asksOnceUnseen === true && signalled.has(desired)) return []
    const next = signalsAgainAt(desired, moment, signalled.has(desired))
    return next === undefined ? [] : [{ about: desired.decided.about, at: next }]
  })
  const requests = sent.flatMap(({ desired, signal }) => requestOf(tx.tenantId, batch, desired, signal) ?? [])
  await endClearedPermits(tx, cycle, all, sent)
  const first = await rememberStarts(
    tx,
    requests.filter(({ signal }) => signal === 'overLimit').map(({ workflowId }) => workflowId),
  )
  await requestWorkflows(
    tx,
    requests.map((request) =>
      first.has(request.workflowId)
        ? request
        : { do: 'signal' as const, workflowId: request.workflowId, signal: request.signal },
    ),
  )
  await noteWould(tx, wouldOf(batch, sent))
  return { sent: sent.map(({ desired, signal }) => ({ decided: desired.decided, signal })), again }
}

function requestOf(
  tenantId: string,
  batch: EvaluationBatch,
  desired: DesiredSuspension,
  signal: Signal,
): WorkflowRequest | undefined {
  if (signal === 'would') return undefined
  const { cycle } = batch.moment
  const { id } = desired.decided.about
  const pool = desired.decided.about.kind === 'pool'
  const workflowId = pool ? enforcePoolId(tenantId, id, cycle.key) : suspendOnOverageId(tenantId, id, cycle.key)
  if (desired.suspend === null || signal !== 'overLimit') return { do: 'signal', workflowId, signal }
  const common = {
    rule: desired.rule.name,
    ruleFile: desired.rule.file,
    grace: desired.suspend.grace ?? 'PT0S',
    until: desired.suspend.until,
  }
  if (!pool) {
    const input: SuspendOnOverageInput = suspendInputOf(tenantId, cycle, { ...common, simId: id })
    return { do: 'signalWithStart', type: 'suspend-on-overage', workflowId, input, signal }
  }
  const input: EnforcePoolInput = {
    tenantId,
    poolId: id,
    cycleKey: cycle.key,
    cycleEndsAt: new Date(cycle.endsAt).toISOString(),
    target: desired.suspend.target,
    ...common,
  }
  return { do: 'signalWithStart', type: 'enforce-pool', workflowId, input, signal }
}

/** Ends the permits of cleared alerts. If the watchdog stands down, withdraws the held ones. */
async function endClearedPermits(
  tx: TenantTx,
  { key: cycleKey, startsAt }: Cycle,
  all: readonly DesiredSuspension[],
  sent: readonly { readonly desired: DesiredSuspension; readonly signal: Signal }[],
): Promise<void> {
  const stoodDown = new Set(sent.filter(({ signal }) => signal === 'standDown').map(({ desired }) => desired))
  const over = all.flatMap((desired) => {
    const { id, kind } = desired.decided.about
    const isPool = kind === 'pool'
    // The last signal may be `standDown` or `would`: the watchdog may have stood down before the alert cleared.
    const last = lastSignalSince(startsAt, desired)
    const wasFiring = desired.decided.stored?.firing === true
    const cleared = desired.wish === 'clear' && wasFiring && last !== null && last !== 'cleared'
    if (!cleared && !stoodDown.has(desired)) return []
    return [{ rule: desired.rule.name, cycleKey, simId: isPool ? null : id, poolId: isPool ? id : null, cleared }]
  })
  if (over.length === 0) return
  await lockGuard(tx)
  await endPermits(tx, over)
}

/** The suspensions that rules would cause, for the list worked off after the commit. */
function wouldOf(
  batch: EvaluationBatch,
  sent: readonly { readonly desired: DesiredSuspension; readonly signal: Signal }[],
): WouldSuspendRow[] {
  return sent.flatMap(({ desired: { decided, suspend, rule }, signal }): WouldSuspendRow[] => {
    if (signal !== 'would' || suspend === null || !('subject' in decided)) return []
    const { about, outcome, subject } = decided
    const { kind, id } = about
    const reason = firedMessage(outcome.rule, subject.facts)
    const { rulesVersion: ruleVersion, moment } = batch
    return [{ kind, id, rule: rule.name, cycleKey: moment.cycle.key, ruleVersion, target: suspend.target, reason }]
  })
}
