/**
 * What enforcement asks of workflows when alerts that ask to suspend fire, clear, or may no longer be acted on.
 *
 * Level-triggered: what is wanted is compared with what was asked last, and the difference is asked for in the
 * same transaction that writes the alert. In Monitor mode the same choice is only logged.
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
import type { EvaluatedSubject, EvaluationOptions } from './evaluation.ts'
import type { Batch } from './read-batch.ts'

/** An alert whose rule asks to suspend, or once did. */
export interface DesiredSuspension {
  readonly subject: EvaluatedSubject
  readonly rule: { readonly name: string; readonly file: string }
  readonly scope: string
  /** Null: the rule no longer looks at the subject. */
  readonly suspend: Suspend | null
  readonly firing: boolean
  readonly permission: Permission['suspend']
  /** The rule is older than the one that is meant, and its stage takes nothing back. */
  readonly keep: boolean
  readonly stored: StoredAlert<AlertState> | null
}

/** `would`: logged what would have been. The others are signals. */
export type Signal = AlertSignal | 'would'

export interface SentSignal {
  readonly desired: DesiredSuspension
  readonly signal: Signal
  /** When to look again though nothing has happened; epoch milliseconds. */
  readonly againAt?: number
}

/** What was asked last in this cycle: the runs of an earlier one have ended with it, and know nothing of this one. */
function lastSignalSince(startsAt: number, { stored }: DesiredSuspension): string | null {
  return stored !== null && (stored.lastSignalAt?.getTime() ?? 0) >= startsAt ? stored.lastSignal : null
}

/** What to ask for now; undefined where nothing has changed since it was asked last. Pure. */
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
  // A pool is asked about again while it is over: its usage grows, and it picks again.
  const lastSignalAt = desired.stored?.lastSignalAt?.getTime() ?? 0
  const due =
    desired.subject.name === 'pool' ? at - lastSignalAt >= repeatMs : becameActive(desired.subject, lastSignalAt, at)
  return due ? wanted : undefined
}

const HOUR_MS = 3_600_000

/** Whether a SIM has come back since an instant: what was asked then found it suspended, and was refused. */
function becameActive({ facts: { status, statusAgeHours } }: EvaluatedSubject, since: number, at: number): boolean {
  return (
    status === SimStatus.Active &&
    typeof statusAgeHours === 'number' &&
    Math.round(at - statusAgeHours * HOUR_MS) > since
  )
}

/** What its state asks for, whatever was asked before; nothing where the rule may not even say what it would do. */
function wantedFor(
  { firing, permission, suspend }: DesiredSuspension,
  enabled: boolean,
): 'overLimit' | 'would' | undefined {
  if (!firing || suspend === null || permission === 'no') return undefined
  return permission === 'do' && enabled ? 'overLimit' : 'would'
}

/** How long until a pool that is over is asked about again: a sixtieth of the cycle, at most a minute. */
const MOST_AGAIN_MS = 60_000
const AGAIN_PARTS = 60

/** Asks for what has changed. @returns what was asked for, to be kept with the alerts */
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
    const again = desired.subject.name === 'pool' && desired.firing ? { againAt: at + repeatMs } : {}
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
  const { id } = desired.subject.subject
  const pool = desired.subject.name === 'pool'
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

/** What the guard was asked for ends with the alert; what it holds is withdrawn where the watchdog stands down. */
async function endClearedPermits(
  tx: TenantTx,
  { key: cycleKey, startsAt }: Cycle,
  desiredSuspensions: readonly DesiredSuspension[],
  sent: readonly SentSignal[],
): Promise<void> {
  const stoodDown = new Set(sent.filter(({ signal }) => signal === 'standDown').map(({ desired }) => desired))
  const over = desiredSuspensions.flatMap((desired) => {
    const { id } = desired.subject.subject
    const pool = desired.subject.name === 'pool'
    // It may have stood down before it cleared, and said what it would do since: then nothing is asked for any more.
    const last = lastSignalSince(startsAt, desired)
    const cleared = !desired.firing && desired.stored?.firing === true && last !== null && last !== 'cleared'
    if (!cleared && !stoodDown.has(desired)) return []
    return [{ rule: desired.rule.name, cycleKey, simId: pool ? null : id, poolId: pool ? id : null, cleared }]
  })
  if (over.length === 0) return
  await lockGuard(tx)
  await endPermits(tx, over)
}

/** Logs, once a SIM, rule and cycle, what would have been suspended: picked as enforcement picks. */
async function logWould(tx: TenantTx, batch: Batch, desired: DesiredSuspension): Promise<void> {
  const { cycle } = batch.moment
  const { subject, suspend, rule } = desired
  if (suspend === null) return
  const entry = (simId: number, label: string, why: string): NewLogEntry => ({
    dedupeKey: `${rule.name}/sim/${simId}/${cycle.key}/wouldSuspend/0`,
    rule: rule.name,
    ruleVersion: batch.rulesVersion,
    simId,
    poolId: subject.poolId,
    level: LogLevel.Warning,
    message: `SIM ${label} would have been suspended by rule ${rule.name}: ${why}; the watchdog only monitors here.`,
    cycleKey: cycle.key,
    explanation: null,
  })
  if (subject.name !== 'pool') {
    const why = fillMessage('it is {{overageMB}} MB over its limit', subject.facts)
    await insertLogEntries(tx, [entry(subject.subject.id, subject.label, why)])
    return
  }
  const { id } = subject.subject
  const overage = (await poolFigures(tx, cycle.key, [id])).get(id)?.overageBytes ?? 0
  const { rows, stoppedExcessBytes } = await poolRows(tx, id, cycle.key, MOST_ROWS)
  const open = rows.filter((row) => !row.stopped)
  const { targets } = pickTargets(suspend.target, overage - stoppedExcessBytes, open)
  const excess = new Map(rows.map((row) => [row.simId, row.excessBytes]))
  const labels = await simLabels(tx, targets)
  await insertLogEntries(
    tx,
    targets.map((simId) => {
      const facts = { poolName: subject.label, overageMB: toMB(overage), excessMB: toMB(excess.get(simId) ?? 0) }
      const why = fillMessage(
        'pool {{poolName}} is {{overageMB}} MB over, the SIM {{excessMB}} MB above its share',
        facts,
      )
      return entry(simId, labels.get(simId) ?? String(simId), why)
    }),
  )
}
