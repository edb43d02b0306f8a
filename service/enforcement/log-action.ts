/** Logs actions of enforcement, and notifies people of them. Each is written once. */
import type { Action, ActionRequest } from '../../domain/enforcement/enforcement.ts'
import { ServiceError } from '../../domain/errors.ts'
import { instant } from '../../domain/local-time.ts'
import { megabytes } from '../../domain/quantity.ts'
import { insertLogEntries } from '../../store/log.ts'
import { insertNotifications } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { knownPool } from '../pools/rows/pools.ts'
import { activeRuleSet } from '../rules/rows/rule-sets.ts'
import { knownSim } from '../sims/rows/sims.ts'
import { tenantSettings } from '../usage/rows/cycles.ts'
import { ACTION_LEVELS, notifyAction, wordsOfReturn } from './notify-action.ts'

const WORDS: Readonly<Record<Action, (subject: string, detail: string) => string>> = {
  suspended: (sim, detail) => `SIM ${sim} was suspended ${detail}`,
  staysSuspended: (sim, detail) => `SIM ${sim} stays suspended ${detail}`,
  wouldSuspend: (sim, detail) => `SIM ${sim} would have been suspended: ${detail}`,
  broughtBack: (sim, detail) => `SIM ${sim} is active again: ${wordsOfReturn(detail)}`,
  released: (sim, detail) => `SIM ${sim} was released: ${detail}`,
  graceStarted: (sim, detail) => `The grace period of SIM ${sim} has begun: ${detail}`,
  graceEnding: (sim, detail) => `The grace period of SIM ${sim} ends: ${detail}`,
  suspendFailed: (sim, detail) => `SIM ${sim} could not be suspended: ${detail}`,
  tooLittleToPick: (pool, detail) => `Pool ${pool} stays over its capacity: ${detail}`,
}

const INSTANT = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/
const MEGABYTES = /(\d+(?:\.\d+)?(?:e[+-]?\d+)?) MB/g

/** A detail as people read it. Workflows write exact instants and numbers, because their code has to replay. */
const readable = (detail: string, timeZone: string): string =>
  detail
    .replaceAll(new RegExp(INSTANT, 'g'), (at) => instant(at, timeZone))
    .replaceAll(MEGABYTES, (_, mb) => megabytes(Number(mb)))
/** The actions that are events. */
const TOLD: Readonly<Partial<Record<Action, 'sim.suspended' | 'sim.brought_back'>>> = {
  suspended: 'sim.suspended',
  broughtBack: 'sim.brought_back',
}

/**
 * Logs an action of a workflow. Idempotent: one log entry per rule, SIM or pool, cycle, action and counter.
 * Suspensions, returns and graces of SIMs also add a notification.
 *
 * @returns whether the entry was new
 * @throws ServiceError `sim_not_found`, `pool_not_found`; `invalid_request` if the action needs a SIM and a pool is
 *   named, or the reverse
 */
export async function logAction(tx: TenantTx, ask: ActionRequest): Promise<{ logged: boolean }> {
  const { subject, label, simId, poolId, tag, iccid } = await subjectOf(tx, ask)
  const rules = await activeRuleSet(tx)
  const key = `${ask.rule ?? 'person'}/${subject}/${ask.cycle}/${ask.action}/${ask.counter}`
  const { timeZone } = await tenantSettings(tx)
  const detail = readable(ask.detail, timeZone)
  const message = WORDS[ask.action](label, detail)
  const logged = await insertLogEntries(tx, [
    {
      dedupeKey: key,
      rule: ask.rule,
      ruleVersion: rules?.version ?? null,
      simId,
      poolId,
      level: ACTION_LEVELS[ask.action],
      message,
      cycleKey: ask.cycle,
      explanation: { workflowId: ask.workflowId, ticketId: ask.ticketId ?? null },
    },
  ])
  if (logged.size === 0) return { logged: false }
  const type = TOLD[ask.action]
  if (type !== undefined && simId !== null) {
    const { rule, cycle } = ask
    await insertNotifications(tx, [
      { type, data: { simId, label: tag || iccid, iccid, tag, poolId, rule, cycle, message } },
    ])
  }
  const endsAt = INSTANT.exec(ask.detail)?.[0] ?? null
  if (simId !== null)
    await notifyAction(tx, { ...ask, detail, simId }, { key, label, tag, iccid, poolId, message, rules, endsAt })
  return { logged: true }
}

/**
 * The SIM or the pool of an action. `tooLittleToPick` belongs to a pool; every other action belongs to a SIM. An action
 * of a SIM is also in the log of its pool.
 */
async function subjectOf(tx: TenantTx, { action, simId, poolId }: ActionRequest) {
  const ofPool = action === 'tooLittleToPick'
  if (ofPool && poolId != null && simId == null) {
    const label = await knownPool(tx, poolId)
    return { subject: `pool/${poolId}`, label, simId: null, poolId, tag: '', iccid: '' }
  }
  if (!ofPool && simId != null && poolId == null)
    return { subject: `sim/${simId}`, simId, ...(await knownSim(tx, simId)) }
  const detail = `${action} is of a ${ofPool ? 'pool: give poolId' : 'SIM: give simId'} and nothing else`
  throw new ServiceError('invalid_request', `${detail}.`, {
    errors: [{ pointer: ofPool ? '/poolId' : '/simId', detail }],
  })
}
