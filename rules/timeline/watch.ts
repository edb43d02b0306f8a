/** The alerts of a timeline: evaluates subjects like the service. Instants are epoch milliseconds. */
import { LogLevel } from '../../domain/codes.ts'
import { mailWaits, shortenedWait } from '../../domain/notifications/waits.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { type AlertPhase, isDecidedAt, scopesAt } from '../alerts/alert-state.ts'
import { withdrawAlert } from '../alerts/decide-alert.ts'
import {
  changesAlert,
  type DecidedAlert,
  decideSubject,
  type KeptAlert,
  leftOf,
  outcomesLeft,
} from '../alerts/decide-subject.ts'
import type { TellingKind } from '../alerts/keys.ts'
import { endedMessage, tellingMessage } from '../alerts/message.ts'
import { byName, inhibitorsByPool } from '../alerts/quiet.ts'
import { isWatched, matchedOf, sharedPoolOf, subjectKey } from '../alerts/subject.ts'
import { settled } from '../alerts/take-back.ts'
import { levelOfTelling, type Telling } from '../alerts/telling.ts'
import { compileRule } from '../compile/compile-rule.ts'
import { rowOf } from '../compile/fact-row.ts'
import { NEVER, tariffBit } from '../compile/flip.ts'
import { evaluateSubject, factsReadBy, type RuleOutcome } from '../engine/evaluate-subject.ts'
import { isAttached } from '../engine/match.ts'
import type { Facts } from '../facts.ts'
import type { Moment } from '../facts-of.ts'
import { levelAt } from '../ladder.ts'
import { othersFirst } from '../others-first.ts'
import type { Rule } from '../rule.ts'
import type { Stage } from '../rule-file.ts'
import type { Coverage } from './coverage.ts'
import type { EnforcementWish } from './enforcement.ts'
import type { TimelineSubject } from './estate.ts'

export interface TimelineTelling {
  readonly at: number
  readonly kind: TellingKind
  readonly key: string
  readonly rule: string
  readonly subject: string
  readonly level: LogLevel
  readonly message: string
}

export interface TimelineNotice extends TimelineTelling {
  /** When its mail leaves at the earliest. */
  readonly dueAt: number
}

export interface PhaseChange {
  readonly at: number
  readonly rule: string
  readonly subject: string
  /** Key of the cycle that it is of; empty for a rule that goes on over cycles. */
  readonly scope: string
  readonly phase: AlertPhase
}

/** Time that a notice below Critical waits for others: the default of `MAIL_GROUP_FIRST`. */
const GROUP_FIRST_MS = 60_000
/** Evaluations between which other work of the process runs: some milliseconds. */
const AT_ONCE = 50
/** Time alone is looked at once a second at most. */
const TICK_MS = 1000

export class Watch {
  readonly entries: TimelineTelling[] = []
  notices: TimelineNotice[] = []
  readonly phases: PhaseChange[] = []
  evaluations = 0
  readonly #coverage: Coverage
  #rules: readonly Rule[]
  readonly #isAlone: boolean
  readonly #alerts = new Map<string, KeptAlert>()
  readonly #outcomes = new Map<string, RuleOutcome>()

  /** @param isAlone the rule is attached with any `match`: the facts are given */
  constructor(rules: readonly Rule[], coverage: Coverage, isAlone: boolean) {
    this.#rules = rules
    this.#coverage = coverage
    this.#isAlone = isAlone
  }

  setStage(name: string, stage: Stage): void {
    this.#outcomes.clear()
    this.#rules = this.#rules.map((rule) =>
      rule.name === name ? { ...rule, event: { ...rule.event, params: { ...rule.event.params, stage } } } : rule,
    )
  }

  /** @param facts those its rules read @returns what its alerts wish, and when time alone may change something */
  async evaluate(
    subject: TimelineSubject,
    facts: Facts,
    moment: Moment,
  ): Promise<{ readonly wishes: EnforcementWish[]; readonly nextAt: number }> {
    this.evaluations += 1
    if (this.evaluations % AT_ONCE === 0) await othersFirst()
    const { at: now, cycle } = moment
    const decided = isWatched(subject) ? this.#rules.filter((rule) => isDecidedAt(rule, moment)) : []
    const attached = decided.filter((rule) => this.#covers(rule, subject, moment))
    const tariffs = tariffBit(subject.kind === 'sim' ? subject.row.tariffType : null)
    const outcomes: RuleOutcome[] = []
    const wishes: EnforcementWish[] = []
    let nextAt = NEVER
    for (const rule of attached) {
      outcomes.push(await this.#outcomeOf(rule, facts))
      nextAt = Math.min(nextAt, compileRule(rule).flipAt(rowOf(facts), { now, cycle }, tariffs))
    }
    const stored = this.#alertsOf(subject, moment)
    const around = this.#around(subject, moment)
    outcomes.push(...outcomesLeft(subject, outcomes, stored, around))
    for (const one of decideSubject(subject, outcomes, stored, around)) {
      this.#carryOut(one, subject, facts, moment)
      nextAt = Math.min(nextAt, one.decision.nextCheckAt ?? NEVER)
      const { rule } = one.outcome
      if (rule.event.params.suspend !== undefined)
        wishes.push({ rule, subject, wish: one.decision.wish, permission: one.permission.suspend })
    }
    for (const alert of leftOf(subject, outcomes, stored, around)) wishes.push(...this.#withdraw(alert, subject, now))
    return { wishes, nextAt: Math.max(nextAt, now + TICK_MS) }
  }

  /** Nothing is silenced, held by the guard or escalated in a timeline, and the tenant gets all mails. */
  #around(subject: TimelineSubject, moment: Moment) {
    const rules = byName(this.#rules)
    const poolId = sharedPoolOf(subject)
    const ofPool = poolId === null ? [] : this.#alertsOf({ kind: 'pool', id: poolId }, moment)
    return {
      moment,
      rules,
      isRefused: false,
      silences: [],
      deviceChanges: new Map(),
      escalateAfterMs: null,
      mailsFrom: LogLevel.Info,
      inhibitors: inhibitorsByPool(ofPool, rules),
      guardOf: () => 'pass' as const,
    }
  }

  #alertsOf(subject: Subject, moment: Moment): KeptAlert[] {
    const scopes = scopesAt(moment)
    return [...this.#alerts.values()].filter(
      (alert) => subjectKey(alert) === subjectKey(subject) && scopes.includes(alert.scope),
    )
  }

  #covers(rule: Rule, subject: TimelineSubject, moment: Moment): boolean {
    const { tenant: _, ...match } = rule.match
    return isAttached({ ...rule, match: this.#isAlone ? {} : match }, matchedOf(subject, 'timeline', moment))
  }

  async #outcomeOf(rule: Rule, facts: Facts): Promise<RuleOutcome> {
    const key = JSON.stringify([rule.name, ...factsReadBy(rule).map((name) => facts[name] ?? null)])
    const known = this.#outcomes.get(key)
    if (known !== undefined) return known
    this.#coverage.note(rule.name, facts)
    const [outcome] = await evaluateSubject([rule], facts)
    if (outcome === undefined) throw new Error('the engine gave no outcome')
    this.#outcomes.set(key, outcome)
    return outcome
  }

  #carryOut(one: DecidedAlert<KeptAlert>, subject: TimelineSubject, facts: Facts, { at, cycle, isEnded }: Moment) {
    const { scope, decision } = one
    const { rule } = one.outcome
    const waiting = new Set(this.notices.filter(({ dueAt }) => dueAt > at).map(({ key }) => key))
    const taken = new Set(decision.takeBack?.fired.map(({ key }) => key).filter((key) => waiting.has(key)) ?? [])
    this.notices = this.notices.filter(({ key }) => !taken.has(key))
    const { next, notices } = settled(decision, taken)
    const toldOf = (telling: Telling): TimelineTelling => {
      const message = tellingMessage(rule, facts, telling.kind, next.step)
      return {
        at,
        kind: telling.kind,
        key: telling.key,
        rule: rule.name,
        subject: subject.name,
        level: levelOfTelling(telling, levelAt(rule, next.step)),
        message: isEnded ? endedMessage(cycle, message) : message,
      }
    }
    this.entries.push(...decision.entries.map(toldOf))
    this.notices.push(
      ...notices.map(toldOf).map((told) => ({ ...told, dueAt: at + waitOf(told.level, cycle, isEnded) })),
    )
    if (!changesAlert(one)) return
    const { kind, id, name } = subject
    this.#keep({ rule: rule.name, kind, id, scope, state: next, lastSignal: null }, name, at)
  }

  #keep(alert: KeptAlert, name: string, at: number): void {
    const { rule, scope, state } = alert
    const key = `${rule}/${subjectKey(alert)}/${scope}`
    const before = this.#alerts.get(key)?.state.phase ?? 'inactive'
    if (before !== state.phase) this.phases.push({ at, rule, subject: name, scope, phase: state.phase })
    this.#alerts.set(key, alert)
  }

  /** Withdraws an open alert of a rule that no longer covers a subject. */
  #withdraw(alert: KeptAlert, subject: TimelineSubject, at: number): EnforcementWish[] {
    const { rule: name, scope, state: previous } = alert
    const { next, entries, takeBack, wish } = withdrawAlert({ name: { rule: name, subject, scope }, previous, now: at })
    const rule = this.#rules.find((one) => one.name === name)
    this.entries.push(
      ...entries.map(({ kind, key }) => ({
        at,
        kind,
        key,
        rule: name,
        subject: subject.name,
        level: LogLevel.Info,
        message: `Rule ${name} no longer watches ${subject.name}`,
      })),
    )
    const gone = new Set(takeBack?.fired.map(({ key }) => key))
    this.notices = this.notices.filter(({ key, dueAt }) => dueAt <= at || !gone.has(key))
    this.#keep({ ...alert, state: next }, subject.name, at)
    return rule === undefined ? [] : [{ rule, subject, wish, permission: 'no' }]
  }
}

function waitOf(level: LogLevel, { startsAt, endsAt }: Cycle, isEnded: boolean): number {
  const length = endsAt - startsAt
  return level === LogLevel.Critical && !isEnded
    ? mailWaits(length).forNextMs
    : shortenedWait(GROUP_FIRST_MS, length, 60)
}
