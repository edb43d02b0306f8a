/** What enforcement did: an entry in the log, and where people should hear of it a notice. Once each. */
import { LogLevel } from '../domain/codes.ts'
import type { Action, ActionAsk } from '../domain/enforcement.ts'
import { toMB } from '../domain/units.ts'
import type { AlertNotification } from '../notify/notification.ts'
import { simFigures } from '../store/figures.ts'
import { insertNotifications } from '../store/mails.ts'
import { activeRuleSet } from '../store/rule-sets.ts'
import { simLabel } from '../store/sims.ts'
import type { TenantTx } from '../store/tenancy.ts'
import { findTenant } from '../store/tenants.ts'
import { insertLogEntries } from '../store/watchdog.ts'

const LEVEL: Readonly<Record<Action, LogLevel>> = {
  suspended: LogLevel.Critical,
  wouldSuspend: LogLevel.Warning,
  broughtBack: LogLevel.Info,
  released: LogLevel.Info,
  graceStarted: LogLevel.Warning,
  graceEnding: LogLevel.Warning,
  suspendFailed: LogLevel.Critical,
}

const WORDS: Readonly<Record<Action, (sim: string) => string>> = {
  suspended: (sim) => `SIM ${sim} was suspended`,
  wouldSuspend: (sim) => `SIM ${sim} would have been suspended`,
  broughtBack: (sim) => `SIM ${sim} was brought back`,
  released: (sim) => `SIM ${sim} was released`,
  graceStarted: (sim) => `The grace period of SIM ${sim} has begun`,
  graceEnding: (sim) => `The grace period of SIM ${sim} ends`,
  suspendFailed: (sim) => `SIM ${sim} could not be suspended`,
}

/**
 * Logs an action of a workflow, once for each rule, SIM, cycle, action and counter.
 *
 * @returns whether it was new
 */
export async function logAction(tx: TenantTx, ask: ActionAsk): Promise<{ logged: boolean }> {
  const label = await simLabel(tx, ask.simId)
  const rules = await activeRuleSet(tx)
  const key = `${ask.rule ?? 'person'}/sim/${ask.simId}/${ask.cycle}/${ask.action}/${ask.counter}`
  const message = `${WORDS[ask.action](label)}: ${ask.detail}`
  const logged = await insertLogEntries(tx, [
    {
      dedupeKey: key,
      rule: ask.rule,
      ruleVersion: rules?.version ?? null,
      simId: ask.simId,
      poolId: null,
      level: LEVEL[ask.action],
      message,
      cycleKey: ask.cycle,
      explanation: { workflowId: ask.workflowId, ticketId: ask.ticketId ?? null },
    },
  ])
  if (logged.size === 0) return { logged: false }
  if (ask.action === 'graceStarted' || ask.action === 'graceEnding') {
    await notifyGrace(tx, ask, ask.action, { key, label, message })
  }
  return { logged: true }
}

async function notifyGrace(
  tx: TenantTx,
  ask: ActionAsk,
  kind: 'graceStarted' | 'graceEnding',
  told: { readonly key: string; readonly label: string; readonly message: string },
): Promise<void> {
  const tenant = await findTenant(tx)
  const rules = await activeRuleSet(tx)
  const figures = (await simFigures(tx, ask.cycle, [ask.simId])).get(ask.simId)
  const limit = figures?.limitBytes ?? 0
  const body: AlertNotification = {
    kind,
    key: told.key,
    level: LogLevel.Warning,
    at: tx.now.toISOString(),
    tenantId: tx.tenantId,
    tenantName: tenant?.name ?? '',
    rule: {
      name: ask.rule ?? 'asked by a person',
      file: rules?.files.find(({ file }) => file.endsWith(`/${ask.rule}.json`))?.file ?? '',
      version: rules?.version ?? 0,
    },
    subject: { kind: 'sim', id: ask.simId, label: told.label },
    message: told.message,
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
    howToStop: 'Raise its limit, exempt the SIM from the watchdog, or set its mode or its pool’s to Monitor.',
  }
  await insertNotifications(tx, [{ dedupeKey: told.key, level: body.level, body, dueAt: tx.now }])
}
