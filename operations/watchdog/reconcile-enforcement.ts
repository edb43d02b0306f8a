/**
 * What enforcement asks of workflows when alerts that ask to suspend fire, clear, or may no longer be acted on.
 *
 * Level-triggered: what is wanted is compared with what was asked last, and the difference is asked for in the
 * same transaction that writes the alert. In Monitor mode the same choice is only logged.
 */
import { LogLevel, SimStatus } from '../../domain/codes.ts'
import {
  type EnforcePoolInput,
  enforcePoolId,
  type SuspendOnOverageInput,
  suspendOnOverageId,
  type WorkflowRequest,
} from '../../domain/temporal/lifecycle.ts'
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
import type { Decided, EvaluationOptions } from './evaluation.ts'
import type { Batch } from './read-batch.ts'

/** An alert whose rule asks to suspend, or once did. */
export interface Wish {
  readonly subject: Decided
  readonly rule: { readonly name: string; readonly file: string }
  readonly scope: string
  /** Null: the rule no longer looks at the subject. */
  readonly suspend: Suspend | null
  readonly firing: boolean
  readonly may: Permission['suspend']
  /** The rule is older than the one that is meant, and its stage takes nothing back. */
  readonly keep: boolean
  readonly stored: StoredAlert<AlertState> | null
}

/** `would`: logged what would have been. The others are signals. */
export type Signal = 'overLimit' | 'cleared' | 'standDown' | 'would'

export interface Asked {
  readonly wish: Wish
  readonly signal: Signal
  /** When to look again though nothing has happened; epoch milliseconds. */
  readonly againAt?: number
}

/** What was asked last in this cycle: the runs of an earlier one have ended with it, and know nothing of this one. */
function askedSince(startsAt: number, { stored }: Wish): string | null {
  return stored !== null && (stored.askedAt?.getTime() ?? 0) >= startsAt ? stored.asked : null
}

/** What to ask for now; undefined where nothing has changed since it was asked last. Pure. */
function signalFor(wish: Wish, enabled: boolean, { at, cycle }: Batch['moment'], againMs: number): Signal | undefined {
  const before = askedSince(cycle.startsAt, wish)
  const wanted = wantedFor(wish, enabled)
  if (before === 'overLimit' && wanted !== 'overLimit') {
    if (!wish.firing) return 'cleared'
    return wish.keep ? undefined : 'standDown'
  }
  if (wanted === undefined || wanted !== before) return wanted
  // A pool is asked about again while it is over: its usage grows, and it picks again.
  const askedAt = wish.stored?.askedAt?.getTime() ?? 0
  const due = wish.subject.name === 'pool' ? at - askedAt >= againMs : becameActive(wish.subject, askedAt, at)
  return due ? wanted : undefined
}

const HOUR_MS = 3_600_000

/** Whether a SIM has come back since an instant: what was asked then found it suspended, and was refused. */
function becameActive({ facts: { status, statusAgeHours } }: Decided, since: number, at: number): boolean {
  return (
    status === SimStatus.Active &&
    typeof statusAgeHours === 'number' &&
    Math.round(at - statusAgeHours * HOUR_MS) > since
  )
}

/** What its state asks for, whatever was asked before; nothing where the rule may not even say what it would do. */
function wantedFor({ firing, may, suspend }: Wish, enabled: boolean): 'overLimit' | 'would' | undefined {
  if (!firing || suspend === null || may === 'no') return undefined
  return may === 'do' && enabled ? 'overLimit' : 'would'
}

/** How long until a pool that is over is asked about again: a sixtieth of the cycle, at most a minute. */
const MOST_AGAIN_MS = 60_000
const AGAIN_PARTS = 60

/** Asks for what has changed. @returns what was asked for, to be kept with the alerts */
export async function enforce(
  tx: TenantTx,
  batch: Batch,
  wishes: readonly Wish[],
  options: EvaluationOptions,
): Promise<Asked[]> {
  const { moment } = batch
  const { at, cycle } = moment
  const againMs = Math.min(MOST_AGAIN_MS, (cycle.endsAt - cycle.startsAt) / AGAIN_PARTS)
  const asked = wishes.flatMap((wish): Asked[] => {
    const signal = signalFor(wish, batch.enforcementEnabled, moment, againMs)
    if (signal === undefined) return []
    const again = wish.subject.name === 'pool' && wish.firing ? { againAt: at + againMs } : {}
    return [{ wish, signal, ...again }]
  })
  const requests = asked.flatMap(({ wish, signal }) => requestOf(tx.tenantId, batch, wish, signal, options) ?? [])
  await endClearedPermits(tx, cycle, wishes, asked)
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
  for (const { wish } of asked.filter(({ signal }) => signal === 'would')) await logWould(tx, batch, wish)
  return asked
}

function requestOf(
  tenantId: string,
  batch: Batch,
  wish: Wish,
  signal: Signal,
  options: EvaluationOptions,
): WorkflowRequest | undefined {
  if (signal === 'would') return undefined
  const { cycle } = batch.moment
  const { id } = wish.subject.subject
  const pool = wish.subject.name === 'pool'
  const workflowId = pool ? enforcePoolId(tenantId, id, cycle.key) : suspendOnOverageId(tenantId, id, cycle.key)
  if (wish.suspend === null || signal !== 'overLimit') return { do: 'signal', workflowId, signal }
  const common = {
    rule: wish.rule.name,
    ruleFile: wish.rule.file,
    grace: wish.suspend.grace ?? 'PT0S',
    until: wish.suspend.until,
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
    target: wish.suspend.target,
    ...common,
  }
  return { do: 'signalWithStart', type: 'enforce-pool', workflowId, input, signal }
}

/** What the guard was asked for ends with the alert; what it holds is withdrawn where the watchdog stands down. */
async function endClearedPermits(
  tx: TenantTx,
  { key: cycleKey, startsAt }: Cycle,
  wishes: readonly Wish[],
  asked: readonly Asked[],
): Promise<void> {
  const stoodDown = new Set(asked.filter(({ signal }) => signal === 'standDown').map(({ wish }) => wish))
  const over = wishes.flatMap((wish) => {
    const { id } = wish.subject.subject
    const pool = wish.subject.name === 'pool'
    // It may have stood down before it cleared, and said what it would do since: then nothing is asked for any more.
    const last = askedSince(startsAt, wish)
    const cleared = !wish.firing && wish.stored?.firing === true && last !== null && last !== 'cleared'
    if (!cleared && !stoodDown.has(wish)) return []
    return [{ rule: wish.rule.name, cycleKey, simId: pool ? null : id, poolId: pool ? id : null, cleared }]
  })
  if (over.length === 0) return
  await lockGuard(tx)
  await endPermits(tx, over)
}

/** Logs, once a SIM, rule and cycle, what would have been suspended: picked as enforcement picks. */
async function logWould(tx: TenantTx, batch: Batch, wish: Wish): Promise<void> {
  const { cycle } = batch.moment
  const { subject, suspend, rule } = wish
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
