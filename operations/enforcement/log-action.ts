/** Logs what enforcement did, and adds a notification if people should know. Each is written once. */
import { LogLevel } from '../../domain/codes.ts'
import type { Action, ActionRequest } from '../../domain/enforcement/enforcement.ts'
import { ServiceError } from '../../domain/errors.ts'
import { toMB } from '../../domain/units.ts'
import type { AlertNotification } from '../../notify/notification.ts'
import { poolName } from '../../store/estate/pools.ts'
import { insertNotifications } from '../../store/mail/mails.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { findTenant } from '../../store/tenants/tenants.ts'
import { simFigures } from '../../store/usage/figures.ts'
import { insertLogEntries } from '../../store/watchdog/alerts.ts'
import { activeRuleSet } from '../../store/watchdog/rule-sets.ts'
import { knownSim } from '../estate/known-sim.ts'

const LEVEL: Readonly<Record<Action, LogLevel>> = {
  suspended: LogLevel.Critical,
  wouldSuspend: LogLevel.Warning,
  broughtBack: LogLevel.Info,
  released: LogLevel.Info,
  graceStarted: LogLevel.Warning,
  graceEnding: LogLevel.Warning,
  suspendFailed: LogLevel.Critical,
  tooLittleToPick: LogLevel.Critical,
}

const WORDS: Readonly<Record<Action, (subject: string) => string>> = {
  suspended: (sim) => `SIM ${sim} was suspended`,
  wouldSuspend: (sim) => `SIM ${sim} would have been suspended`,
  broughtBack: (sim) => `SIM ${sim} was brought back`,
  released: (sim) => `SIM ${sim} was released`,
  graceStarted: (sim) => `The grace period of SIM ${sim} has begun`,
  graceEnding: (sim) => `The grace period of SIM ${sim} ends`,
  suspendFailed: (sim) => `SIM ${sim} could not be suspended`,
  tooLittleToPick: (pool) => `Pool ${pool} stays over its capacity`,
}

/**
 * Logs an action of a workflow. Idempotent: one log entry per rule, SIM or pool, cycle, action and counter. The start
 * of a grace period and the warning before its end also add a notification.
 *
 * @returns whether the entry was new
 * @throws ServiceError `sim_not_found`, `pool_not_found`; `invalid_request` if the action needs a SIM and a pool is
 *   named, or the reverse
 */
export async function logAction(tx: TenantTx, ask: ActionRequest): Promise<{ logged: boolean }> {
  const { subject, label, simId, poolId } = await subjectOf(tx, ask)
  const rules = await activeRuleSet(tx)
  const key = `${ask.rule ?? 'person'}/${subject}/${ask.cycle}/${ask.action}/${ask.counter}`
  const message = `${WORDS[ask.action](label)}: ${ask.detail}`
  const logged = await insertLogEntries(tx, [
    {
      dedupeKey: key,
      rule: ask.rule,
      ruleVersion: rules?.version ?? null,
      simId,
      poolId,
      level: LEVEL[ask.action],
      message,
      cycleKey: ask.cycle,
      explanation: { workflowId: ask.workflowId, ticketId: ask.ticketId ?? null },
    },
  ])
  if (logged.size === 0) return { logged: false }
  if (simId !== null && (ask.action === 'graceStarted' || ask.action === 'graceEnding')) {
    await notifyGrace(tx, { ...ask, simId }, ask.action, { key, label, message })
  }
  return { logged: true }
}

/**
 * The SIM or the pool of an action. `tooLittleToPick` belongs to a pool; every other action belongs to a SIM. An action
 * of a SIM is also in the log of its pool.
 */
async function subjectOf(tx: TenantTx, { action, simId, poolId }: ActionRequest) {
  const ofPool = action === 'tooLittleToPick'
  if (ofPool && poolId != null && simId == null) {
    const label = await poolName(tx, poolId)
    if (label === undefined) throw new ServiceError('pool_not_found', `There is no pool ${poolId}.`)
    return { subject: `pool/${poolId}`, label, simId: null, poolId }
  }
  if (!ofPool && simId != null && poolId == null) {
    return { subject: `sim/${simId}`, simId, ...(await knownSim(tx, simId)) }
  }
  const detail = `${action} is of a ${ofPool ? 'pool: give poolId' : 'SIM: give simId'} and nothing else`
  throw new ServiceError('invalid_request', `${detail}.`, {
    errors: [{ pointer: ofPool ? '/poolId' : '/simId', detail }],
  })
}

async function notifyGrace(
  tx: TenantTx,
  ask: ActionRequest & { readonly simId: number },
  kind: 'graceStarted' | 'graceEnding',
  entry: { readonly key: string; readonly label: string; readonly message: string },
): Promise<void> {
  const tenant = await findTenant(tx)
  const rules = await activeRuleSet(tx)
  const figures = (await simFigures(tx, ask.cycle, [ask.simId])).get(ask.simId)
  const limit = figures?.limitBytes ?? 0
  const body: AlertNotification = {
    kind,
    key: entry.key,
    level: LogLevel.Warning,
    at: tx.now.toISOString(),
    tenantId: tx.tenantId,
    tenantName: tenant?.name ?? '',
    rule: {
      name: ask.rule ?? 'asked by a person',
      file: rules?.files.find(({ file }) => file.endsWith(`/${ask.rule}.json`))?.file ?? '',
      version: rules?.version ?? 0,
    },
    subject: { kind: 'sim', id: ask.simId, label: entry.label },
    message: entry.message,
    since: tx.now.toISOString(),
    facts: {
      usageMB: figures === undefined ? null : toMB(figures.usageBytes),
      limitMB: figures === undefined ? null : toMB(limit),
      usagePct: figures === undefined || limit === 0 ? null : (100 * figures.usageBytes) / limit,
      overageMB: figures === undefined ? null : toMB(figures.overageBytes),
    },
    pace: null,
    whatNext: ask.detail,
    why: [],
    howToStop: 'Raise its limit, exempt the SIM from the watchdog, or set its mode to Monitor.',
  }
  await insertNotifications(tx, [{ body, dueAt: tx.now }])
}
