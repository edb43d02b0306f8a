/** Notifies people of actions of enforcement on a SIM. */
import { LogLevel } from '../../domain/codes.ts'
import type { Action, ActionRequest } from '../../domain/enforcement/enforcement.ts'
import { instant, shortInstant } from '../../domain/local-time.ts'
import type { AlertNotification } from '../../domain/notifications/notification.ts'
import { mailWaits } from '../../domain/notifications/waits.ts'
import { type Cycle, cycleAt, cycleOfKey } from '../../domain/time/cycle.ts'
import { toMB } from '../../domain/units.ts'
import { insertNotifications, takeBackNotifications } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolName } from '../pools/rows/pools.ts'
import { type RuleSet, sourceOfRule } from '../rules/rows/rule-sets.ts'
import type { NamedSim } from '../sims/rows/sims.ts'
import { suspendedUntil } from '../sims/rows/suspensions.ts'
import { findTenant } from '../tenants/rows/tenants.ts'
import { tenantSettings } from '../usage/rows/cycles.ts'
import { simFigures } from '../usage/rows/figures.ts'

const MAILED = ['suspended', 'broughtBack', 'graceStarted', 'graceEnding'] as const
type ActionKind = (typeof MAILED)[number]
type SimRequest = ActionRequest & { readonly simId: number }

export const ACTION_LEVELS: Readonly<Record<Action, LogLevel>> = {
  suspended: LogLevel.Critical,
  staysSuspended: LogLevel.Info,
  wouldSuspend: LogLevel.Warning,
  broughtBack: LogLevel.Info,
  released: LogLevel.Info,
  graceStarted: LogLevel.Warning,
  graceEnding: LogLevel.Warning,
  suspendFailed: LogLevel.Critical,
  tooLittleToPick: LogLevel.Critical,
}
const isMailed = (action: Action): action is ActionKind => MAILED.some((each) => each === action)

/** The log's entry of the action, and the rules in force. */
interface Entry extends NamedSim {
  readonly key: string
  readonly message: string
  readonly rules: RuleSet | undefined
  /** The first instant in the detail, as ISO 8601; null if there is none. Of a grace, its end. */
  readonly endsAt: string | null
}

/** Notifies people of an action; not of a suspension that ended before its mail left, nor of that one's end. */
export async function notifyAction(tx: TenantTx, ask: SimRequest, entry: Entry): Promise<void> {
  const { action } = ask
  if (!isMailed(action)) return
  if (action === 'broughtBack') {
    const began = entry.key.replace(`/${action}/`, '/suspended/')
    if ((await takeBackNotifications(tx, [began])).size > 0) return
  }
  const { billingCycle, mailsFrom, timeZone } = await tenantSettings(tx)
  // The end of a suspension is mailed if the suspension was.
  if (action !== 'broughtBack' && ACTION_LEVELS[action] < mailsFrom) return
  const running = cycleAt(billingCycle, tx.now.getTime())
  const cycle = cycleOfKey(billingCycle, ask.cycle) ?? running
  const body = await notificationOf(tx, { ...ask, action }, entry, { cycle, timeZone })
  const dueAt = new Date(tx.now.getTime() + mailWaits(running.endsAt - running.startsAt).forNextMs)
  await insertNotifications(tx, [{ body, dueAt }])
}

async function notificationOf(
  tx: TenantTx,
  ask: SimRequest & { readonly action: ActionKind },
  entry: Entry,
  { cycle, timeZone }: { readonly cycle: Cycle; readonly timeZone: string },
): Promise<AlertNotification> {
  const { action, simId } = ask
  const { key, label, tag, iccid, poolId, rules, endsAt } = entry
  const isGrace = action === 'graceStarted' || action === 'graceEnding'
  const at = tx.now.toISOString()
  const rule = ruleOf(rules, ask.rule)
  const pool = poolId === null ? undefined : await poolName(tx, poolId)
  return {
    kind: action,
    key,
    level: ACTION_LEVELS[action],
    at,
    tenantId: tx.tenantId,
    tenantName: (await findTenant(tx))?.name ?? '',
    timeZone,
    rule: { name: ask.rule ?? 'asked by a person', file: rule.file, version: rules?.version ?? 0 },
    subject: tag === '' ? { kind: 'sim', id: simId, label } : { kind: 'sim', id: simId, label: tag, iccid },
    ...(pool === undefined ? {} : { poolName: pool }),
    ...(poolId !== null && rule.isOfPools ? { causePoolId: poolId } : {}),
    message: messageOf(ask, entry),
    since: at,
    facts: await factsOf(tx, ask),
    pace: null,
    ...(action === 'suspended'
      ? nextOfSuspended(await suspendedUntil(tx, simId), instant(cycle.endsAt, timeZone))
      : {
          whatNext: action === 'broughtBack' ? 'Nothing: it is active again.' : `It is ${ask.detail}.`,
          advice: 'How to stop this: Raise its limit, exempt the SIM from the watchdog, or set its mode to Monitor.',
        }),
    ...(isGrace && endsAt !== null ? { follows: `suspended at ${shortInstant(endsAt, timeZone)}` } : {}),
    why: [],
  }
}

/** The file of a rule, and whether it is about pools: it has then suspended the SIM for its pool. */
function ruleOf(rules: RuleSet | undefined, name: string | null): { file: string; isOfPools: boolean } {
  const source = sourceOfRule(rules, name)
  if (source === undefined) return { file: '', isOfPools: false }
  const { subject }: { readonly subject?: unknown } = JSON.parse(source.text)
  return { file: source.file, isOfPools: subject === 'pool' }
}

function messageOf({ action, rule, detail }: SimRequest, { label, tag, message }: Entry): string {
  const name = tag === '' ? label : tag
  const by = rule === null ? 'as a person had asked' : `by rule ${rule}`
  if (action === 'suspended') return `SIM ${name} was suspended ${by}.`
  if (action === 'broughtBack') return `SIM ${name} is active again: ${wordsOfReturn(detail)}.`
  return `${message.replace(label, () => name)}.`
}

/** The workflow's reason for the end of a suspension, in words. */
export const wordsOfReturn = (reason: string): string => WHY_BACK[reason] ?? reason

const WHY_BACK: Readonly<Record<string, string>> = {
  renewed: 'the next billing cycle has begun',
  boundary: 'the next billing cycle has begun',
  resumed: 'a person has resumed it',
  'under its limit again': 'it is under its limit again',
}

const STAYS = 'Exempting it, or another mode, leaves it suspended.'

function nextOfSuspended(
  until: 'renewal' | 'manual' | null,
  renewsAt: string,
): Pick<AlertNotification, 'whatNext' | 'whatNextOfMany' | 'advice'> {
  if (until === 'manual') {
    const stays = 'suspended until somebody activates'
    return {
      whatNext: `It stays ${stays} it.`,
      whatNextOfMany: `They stay ${stays} them.`,
      advice: `How to bring a SIM back: Open an activate ticket. ${STAYS}`,
    }
  }
  const back = `back once the rule no longer holds, at the latest when the next billing cycle begins at ${renewsAt}.`
  return {
    whatNext: `It comes ${back}`,
    whatNextOfMany: `They come ${back}`,
    advice: `How to bring a SIM back earlier: Raise its limit, or open an activate ticket. ${STAYS}`,
  }
}

async function factsOf(tx: TenantTx, { simId, cycle }: SimRequest): Promise<AlertNotification['facts']> {
  const figures = (await simFigures(tx, cycle, [simId])).get(simId)
  if (figures === undefined) return { usageMB: null, limitMB: null, usagePct: null, overageMB: null }
  const { usageBytes, limitBytes, overageBytes } = figures
  return {
    usageMB: toMB(usageBytes),
    limitMB: toMB(limitBytes),
    usagePct: limitBytes === 0 ? null : (100 * usageBytes) / limitBytes,
    overageMB: toMB(overageBytes),
  }
}
