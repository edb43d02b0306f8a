/**
 * The guard on firing: for how many subjects a rule begins to tell or to act in an hour. Beyond that, notices and wishes
 * wait in a hold until a person decides. Source: decision 0042.
 */
import { instant } from '../../domain/local-time.ts'
import { count, counted } from '../../domain/quantity.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import { holdOf } from '../../rules/alerts/guard.ts'
import type { AlertState } from '../../rules/alerts/state.ts'
import { addHeld, holdStates, poolCount } from '../../store/enforcement/alert-holds.ts'
import { type GuardScope, insertHold, openHoldOf, scopeSize } from '../../store/enforcement/guard.ts'
import { addCount, type CountScope, countedInHour } from '../../store/enforcement/guard-counts.ts'
import { readEnforcementSettings } from '../../store/enforcement/guard-settings.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { StoredAlert } from '../../store/watchdog/alerts.ts'
import { limitFor } from '../enforcement/guard-limit.ts'
import { type HeldNews, tellHold, tellMoreOfHold } from '../enforcement/tell-hold.ts'
import type { Decisions, Evaluation, GuardAnswers } from './decisions.ts'
import { type Batch, keyOf } from './evaluation.ts'

/** Reads what persons decided about those alerts that are held. What has lapsed asks anew. */
export async function readAnswers(tx: TenantTx, alerts: readonly StoredAlert<AlertState>[]): Promise<GuardAnswers> {
  const states = await holdStates(tx, [...new Set(alerts.flatMap(({ state }) => holdOf(state) ?? []))])
  return (_rule, _subject, stored) => {
    const id = stored === null ? undefined : holdOf(stored.state)
    if (id === undefined) return 'pass'
    const state = states.get(id)
    if (state === 'held') return id
    return state === 'released' || state === 'discarded' ? state : 'pass'
  }
}

/**
 * Decides the alerts of a batch; again where the guard holds some of them. Counts those that pass. Call with the
 * tenant's alerts locked: the guard counts under that lock.
 *
 * In a cycle that has ended it holds and counts nothing: nothing is done there, all notices go into one mail, and a hold
 * would have lapsed already.
 */
export async function guardFiring(
  tx: TenantTx,
  batch: Batch,
  answers: GuardAnswers,
  decide: (answers: GuardAnswers) => Decisions,
): Promise<Decisions> {
  const decided = decide(answers)
  if (batch.moment.isEnded) return decided
  const asking = decided.evaluations.filter(({ decision }) => decision.counts)
  const nameOf = (rule: string, subject: Subject) => `${rule}/${keyOf(subject)}`
  const held = new Map<string, number>()
  for (const [rule, evaluations] of Map.groupBy(asking, ({ outcome }) => outcome.rule.name)) {
    for (const [{ about }, holdId] of await beyondLimit(tx, batch, rule, evaluations)) {
      held.set(nameOf(rule, about), holdId)
    }
  }
  if (held.size === 0) return decided
  return decide((rule, subject, stored) => held.get(nameOf(rule, subject)) ?? answers(rule, subject, stored))
}

/** The room that a rule has in its hour. */
interface Room {
  /** Id of its open hold; undefined if it has none. */
  readonly open: number | undefined
  /** Subjects that it has begun to tell of in the hour. */
  readonly used: number
  readonly allowed: number
  /** For how many there is room. */
  readonly free: number
}

/** Reads for how many subjects a rule may begin to tell now. An open hold takes all: what comes after it must not be told before it. */
export async function roomFor(
  tx: TenantTx,
  { key }: Pick<Cycle, 'key'>,
  rule: string,
  asking: { readonly kind: SubjectKind; readonly count: number },
): Promise<Room> {
  const open = await openHoldOf(tx, scopeOf(rule, key), 'alerts')
  const used = await countedInHour(tx, countOf(rule))
  const allowed = await allowedFor(tx, asking.kind, used + asking.count)
  return { open, used, allowed, free: open === undefined ? Math.max(0, allowed - used) : 0 }
}

const scopeOf = (rule: string, cycleKey: string): GuardScope => ({ rule, version: 0, poolId: null, cycleKey })
const countOf = (rule: string): CountScope => ({ what: 'alerts', rule, version: 0, poolId: null })

/** Lets a rule's alerts pass up to its limit. @returns those that are held, each with its hold */
async function beyondLimit(
  tx: TenantTx,
  batch: Batch,
  rule: string,
  asking: readonly Evaluation[],
): Promise<[Evaluation, number][]> {
  const { cycle } = batch.moment
  const of = { kind: asking[0]?.about.kind ?? 'sim', count: asking.length } as const
  const { open, used, allowed, free } = await roomFor(tx, cycle, rule, of)
  const [passed, over] = [asking.slice(0, free), asking.slice(free)]
  if (passed.length > 0) await addCount(tx, countOf(rule), passed.length)
  if (over.length === 0) return []
  const told = used + passed.length
  const found = { cycleEndsAt: new Date(cycle.endsAt), suspended: told, allowed }
  const holdId = open ?? (await insertHold(tx, scopeOf(rule, cycle.key), found, 'alerts'))
  const news = newsOf(tx, batch, { rule, holdId, told, allowed, held: await addHeld(tx, holdId, over.length) })
  await (open === undefined ? tellHold(tx, news) : tellMoreOfHold(tx, news))
  return over.map((one) => [one, holdId])
}

/** The hourly limit. A share of pools or SIMs is of all that the tenant has, those in Monitor mode too. */
async function allowedFor(tx: TenantTx, kind: SubjectKind, wanted: number): Promise<number> {
  const { alertGuardLeast: least, alertGuardPct: pct } = await readEnforcementSettings(tx)
  return limitFor({ least, pct }, wanted, async (enough) => {
    if (kind === 'tenant') return 1
    return kind === 'sim' ? scopeSize(tx, null) : poolCount(tx, enough)
  })
}

interface Held {
  readonly rule: string
  readonly holdId: number
  /** Subjects that were told of in the hour before. */
  readonly told: number
  readonly allowed: number
  /** Subjects that wait. */
  readonly held: number
}

function newsOf(tx: TenantTx, { moment, rulesVersion, timeZone }: Batch, found: Held): HeldNews {
  const { rule, holdId, told, allowed, held } = found
  const until = instant(moment.cycle.endsAt, timeZone)
  const command = (name: string) => `npx simherd enforcement ${name} ${holdId} --tenant ${tx.tenantId}`
  return {
    holdId,
    rule,
    version: rulesVersion,
    poolId: null,
    cycleKey: moment.cycle.key,
    waiting: held,
    message:
      `Decision needed: ${counted(held, 'alert')} of rule ${rule} held. It may begin to tell of ${counted(allowed, 'subject')} in an hour. ` +
      `${count(told)} were told of; these and all further ones wait: they are logged, but neither mailed nor acted on. ` +
      `Decide until ${until}: ${command('release')}, or discard.`,
    whatNext: `Nothing more of this rule is mailed or acted on until a person decides, at the latest until ${until}.`,
    howToStop: `Where the alerts are right: ${command('release')}. Where they are not: ${command('discard')}.`,
    explanation: found,
  }
}
