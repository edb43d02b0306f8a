/**
 * Signals workflows when an alert with a desired suspension fires, clears, or may no longer be acted on.
 *
 * Level-triggered: what is desired is compared with the last signal, and the difference is sent. That happens in the
 * transaction that writes the alert. In Monitor mode SIMs are chosen in the same way, but only logged.
 */

import { LogLevel, SimStatus } from '../../domain/codes.ts'
import type { EnforcePoolInput } from '../../domain/temporal/enforce-pool.ts'
import { enforcePoolId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import type { AlertSignal } from '../../domain/temporal/signals.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { toMB } from '../../domain/units.ts'
import type { AlertState } from '../../rules/alerts/alerts.ts'
import { fillMessage } from '../../rules/alerts/message.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import { pickTargets } from '../../rules/alerts/pick-sims.ts'
import type { Suspend } from '../../rules/rule-file.ts'
import { poolRows } from '../../store/enforcement/candidates.ts'
import { endPermits, lockGuard } from '../../store/enforcement/guard.ts'
import { simLabels } from '../../store/estate/sims.ts'
import { rememberStarts, requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolFigures } from '../../store/usage/figures.ts'
import { insertLogEntries, type NewLogEntry, type StoredAlert } from '../../store/watchdog/alerts.ts'
import { MOST_ROWS } from '../enforcement/read-enforcement.ts'
import { suspendInputOf } from '../workflows/inputs.ts'
import { type EvaluatedSubject, type EvaluationOptions, poolIdOf, subjectLabel } from './evaluation.ts'
import type { Batch } from './read-batch.ts'

/** An alert whose rule asks to suspend, or did so before. */
export interface DesiredSuspension {
  readonly subject: EvaluatedSubject
  readonly rule: { readonly name: string; readonly file: string }
  readonly scope: string
  /** Null if the rule no longer covers the subject. */
  readonly suspend: Suspend | null
  readonly firing: boolean
  readonly permission: Permission['suspend']
  /** The rule is older than the one that should be in force, and its stage must not take a suspension back. */
  readonly keep: boolean
  readonly stored: StoredAlert<AlertState> | null
}

/** `would`: only logged, what would have happened. The others are signals. */
export type Signal = AlertSignal | 'would'

export interface SentSignal {
  readonly desired: DesiredSuspension
  readonly signal: Signal
  /** When to evaluate again even if nothing happens; epoch milliseconds. */
  readonly againAt?: number
}

/** The last signal of this cycle. Earlier ones do not count: the runs of a cycle end with it. */
function lastSignalSince(startsAt: number, { stored }: DesiredSuspension): string | null {
  return stored !== null && (stored.lastSignalAt?.getTime() ?? 0) >= startsAt ? stored.lastSignal : null
}

/** The signal to send now; undefined if nothing has changed since the last one. Pure. */
function signalFor(
  desired: DesiredSuspension,
  enabled: boolean,
  { at, cycle }: Batch['moment'],
  repeatMs: number,
): Signal | undefined {
  const before = lastSignalSince(cycle.startsAt, desired)
  const wanted = wantedFor(desired, enabled)
  if (before === 'overLimit' && wanted !== 'overLimit') {
    if (!desired.firing) return 'cleared'
    return desired.keep ? undefined : 'standDown'
  }
  if (wanted === undefined || wanted !== before) return wanted
  // Signal again while a pool is over: its usage grows, so its workflow has to pick SIMs again.
  const lastSignalAt = desired.stored?.lastSignalAt?.getTime() ?? 0
  const due =
    desired.subject.kind === 'pool' ? at - lastSignalAt >= repeatMs : becameActive(desired.subject, lastSignalAt)
  return due ? wanted : undefined
}

/** Whether a SIM became active after `since`. The earlier signal found it suspended, so it came to nothing. */
function becameActive(subject: EvaluatedSubject, since: number): boolean {
  return subject.kind === 'sim' && subject.row.status === SimStatus.Active && subject.row.statusSince.getTime() > since
}

/** What the alert calls for, whatever was sent before; undefined if the rule may not even log what it would do. */
function wantedFor(
  { firing, permission, suspend }: DesiredSuspension,
  enabled: boolean,
): 'overLimit' | 'would' | undefined {
  if (!firing || suspend === null || permission === 'no') return undefined
  return permission === 'do' && enabled ? 'overLimit' : 'would'
}

/** A pool that is over is signalled again after a sixtieth of the cycle, or after a minute if that is shorter. */
const MOST_AGAIN_MS = 60_000
const AGAIN_PARTS = 60

/** Sends what has changed. @returns the signals sent, to be stored with the alerts */
export async function reconcile(
  tx: TenantTx,
  batch: Batch,
  desiredSuspensions: readonly DesiredSuspension[],
  options: EvaluationOptions,
): Promise<SentSignal[]> {
  const { moment } = batch
  const { at, cycle } = moment
  const repeatMs = Math.min(MOST_AGAIN_MS, (cycle.endsAt - cycle.startsAt) / AGAIN_PARTS)
  const sent = desiredSuspensions.flatMap((desired): SentSignal[] => {
    const signal = signalFor(desired, batch.enforcementEnabled, moment, repeatMs)
    if (signal === undefined) return []
    const again = desired.subject.kind === 'pool' && desired.firing ? { againAt: at + repeatMs } : {}
    return [{ desired, signal, ...again }]
  })
  const requests = sent.flatMap(({ desired, signal }) => requestOf(tx.tenantId, batch, desired, signal, options) ?? [])
  await endClearedPermits(tx, cycle, desiredSuspensions, sent)
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
  for (const { desired } of sent.filter(({ signal }) => signal === 'would')) await logWould(tx, batch, desired)
  return sent
}

function requestOf(
  tenantId: string,
  batch: Batch,
  desired: DesiredSuspension,
  signal: Signal,
  options: EvaluationOptions,
): WorkflowRequest | undefined {
  if (signal === 'would') return undefined
  const { cycle } = batch.moment
  const { id } = desired.subject
  const pool = desired.subject.kind === 'pool'
  const workflowId = pool ? enforcePoolId(tenantId, id, cycle.key) : suspendOnOverageId(tenantId, id, cycle.key)
  if (desired.suspend === null || signal !== 'overLimit') return { do: 'signal', workflowId, signal }
  const common = {
    rule: desired.rule.name,
    ruleFile: desired.rule.file,
    grace: desired.suspend.grace ?? 'PT0S',
    until: desired.suspend.until,
  }
  if (!pool) {
    const input: SuspendOnOverageInput = suspendInputOf(tenantId, cycle, options, { ...common, simId: id })
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

/** Ends the permits of alerts that have cleared. If the watchdog stands down, withdraws those that are held. */
async function endClearedPermits(
  tx: TenantTx,
  { key: cycleKey, startsAt }: Cycle,
  desiredSuspensions: readonly DesiredSuspension[],
  sent: readonly SentSignal[],
): Promise<void> {
  const stoodDown = new Set(sent.filter(({ signal }) => signal === 'standDown').map(({ desired }) => desired))
  const over = desiredSuspensions.flatMap((desired) => {
    const { id } = desired.subject
    const pool = desired.subject.kind === 'pool'
    // The last signal may be `standDown` or `would`: the watchdog may have stood down before the alert cleared.
    const last = lastSignalSince(startsAt, desired)
    const cleared = !desired.firing && desired.stored?.firing === true && last !== null && last !== 'cleared'
    if (!cleared && !stoodDown.has(desired)) return []
    return [{ rule: desired.rule.name, cycleKey, simId: pool ? null : id, poolId: pool ? id : null, cleared }]
  })
  if (over.length === 0) return
  await lockGuard(tx)
  await endPermits(tx, over)
}

/** Logs which SIMs would have been suspended, once per SIM, rule and cycle. Picks them as enforcement does. */
async function logWould(tx: TenantTx, batch: Batch, desired: DesiredSuspension): Promise<void> {
  const { cycle } = batch.moment
  const { subject, suspend, rule } = desired
  if (suspend === null) return
  const entry = (simId: number, label: string, why: string): NewLogEntry => ({
    dedupeKey: `${rule.name}/sim/${simId}/${cycle.key}/wouldSuspend/0`,
    rule: rule.name,
    ruleVersion: batch.rulesVersion,
    simId,
    poolId: poolIdOf(subject),
    level: LogLevel.Warning,
    message: `SIM ${label} would have been suspended by rule ${rule.name}: ${why}; the watchdog only monitors here.`,
    cycleKey: cycle.key,
    explanation: null,
  })
  if (subject.kind !== 'pool') {
    const why = fillMessage('it is {{overageMB}} MB over its limit', subject.facts)
    await insertLogEntries(tx, [entry(subject.id, subjectLabel(subject), why)])
    return
  }
  const { id } = subject
  const overage = (await poolFigures(tx, cycle.key, [id])).get(id)?.overageBytes ?? 0
  const { rows, stoppedExcessBytes } = await poolRows(tx, id, cycle.key, MOST_ROWS)
  const open = rows.filter((row) => !row.stopped)
  const { targets } = pickTargets(suspend.target, overage - stoppedExcessBytes, open)
  const excess = new Map(rows.map((row) => [row.simId, row.excessBytes]))
  const labels = await simLabels(tx, targets)
  await insertLogEntries(
    tx,
    targets.map((simId) => {
      const facts = { poolName: subject.row.poolName, overageMB: toMB(overage), excessMB: toMB(excess.get(simId) ?? 0) }
      const why = fillMessage(
        'pool {{poolName}} is {{overageMB}} MB over, the SIM {{excessMB}} MB above its share',
        facts,
      )
      return entry(simId, labels.get(simId) ?? String(simId), why)
    }),
  )
}
