/**
 * The alerts of a timeline: evaluates subjects like the service, and keeps the tellings. Instants are epoch
 * milliseconds.
 */
import { LogLevel } from '../../domain/codes.ts'
import { mailWaits, shortenedWait } from '../../domain/notifications/waits.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { type AlertDecision, decideAlert, levelOf, withdrawAlert } from '../alerts/decide.ts'
import { byName, inhibitorOf, inhibitorsAmong } from '../alerts/inhibit.ts'
import type { TellingKind } from '../alerts/keys.ts'
import { endedMessage, tellingMessage } from '../alerts/message.ts'
import { permitted } from '../alerts/permission.ts'
import { type AlertPhase, type AlertState, isOpen, scopeOf, unseen } from '../alerts/state.ts'
import { settled } from '../alerts/take-back.ts'
import { levelOfTelling, type Telling } from '../alerts/telling.ts'
import { COMPARISONS } from '../compile/comparisons.ts'
import { compileRule } from '../compile/compile-rule.ts'
import { NEVER } from '../compile/flip.ts'
import { rowOf } from '../compile/row.ts'
import { factsRead } from '../conditions.ts'
import { evaluateSubject, type RuleOutcome } from '../engine/evaluate.ts'
import { isAttached } from '../engine/match.ts'
import type { Facts } from '../facts.ts'
import type { Moment } from '../facts-of.ts'
import { levelAt } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import type { Stage } from '../rule-file.ts'
import type { Coverage } from './coverage.ts'
import type { Wished } from './enforce.ts'
import type { TimelineSubject } from './subjects.ts'

export interface Told {
  readonly at: number
  readonly kind: TellingKind
  readonly key: string
  readonly rule: string
  readonly subject: string
  readonly level: LogLevel
  readonly message: string
}

export interface Notice extends Told {
  /** When its mail leaves at the earliest. */
  readonly dueAt: number
}

/** A change of an alert's phase. */
export interface PhaseChange {
  readonly at: number
  readonly rule: string
  readonly subject: string
  /** Key of the cycle that it is of; empty for a rule that goes on over cycles. */
  readonly scope: string
  readonly phase: AlertPhase
}

interface Kept extends Subject {
  readonly rule: string
  readonly name: string
  readonly scope: string
  state: AlertState
}

/** Time that a notice below Critical waits for others: the default of `MAIL_GROUP_FIRST`. */
const GROUP_FIRST_MS = 60_000
/** Time alone is looked at once a second at most. */
const TICK_MS = 1000

export class Watch {
  readonly entries: Told[] = []
  notices: Notice[] = []
  readonly phases: PhaseChange[] = []
  evaluations = 0
  readonly #coverage: Coverage
  #rules: readonly Rule[]
  readonly #isAlone: boolean
  readonly #alerts: Kept[] = []
  readonly #outcomes = new Map<string, RuleOutcome>()

  /** @param isAlone the rule is attached with any `match`: the facts are given */
  constructor(rules: readonly Rule[], coverage: Coverage, isAlone: boolean) {
    this.#rules = rules
    this.#coverage = coverage
    this.#isAlone = isAlone
  }

  /** Gives a rule another stage. */
  setStage(name: string, stage: Stage): void {
    this.#outcomes.clear()
    this.#rules = this.#rules.map((rule) =>
      rule.name === name ? { ...rule, event: { ...rule.event, params: { ...rule.event.params, stage } } } : rule,
    )
  }

  /**
   * Evaluates a subject.
   *
   * @returns what its alerts wish, and when time alone may change something
   */
  async evaluate(
    subject: TimelineSubject,
    moment: Moment,
  ): Promise<{ readonly wishes: Wished[]; readonly nextAt: number }> {
    this.evaluations += 1
    const { at, cycle, isEnded } = moment
    const attached = this.#rules.filter((rule) => this.#covers(rule, subject) && (rule.cycleBound || !isEnded))
    const wishes: Wished[] = []
    let nextAt = NEVER
    const leveled: { rule: Rule; outcome: RuleOutcome; kept: Kept; level: LogLevel }[] = []
    for (const rule of attached) {
      const outcome = await this.#outcomeOf(rule, subject.facts)
      const kept = this.#alertOf(rule, subject, scopeOf(rule, cycle.key), at)
      const asked = { outcome, cycle, staleSince: moment.feed.staleSince, previous: kept.state, now: at }
      leveled.push({ rule, outcome, kept, level: levelOf(asked) })
      const flip = compileRule(rule, COMPARISONS).flipAt(rowOf(subject.facts), { now: at, cycle }, subject.tariffs)
      nextAt = Math.min(nextAt, flip)
    }
    // An alert inhibits those of lower levels.
    for (const one of leveled.toSorted((a, b) => b.level - a.level)) {
      const permission = permitted(one.rule.event.params.stage, subject.mode)
      const decision = decideAlert({
        outcome: one.outcome,
        subject,
        cycle,
        permission,
        quiet: this.#quietFor(one.rule, one.level, subject),
        escalateAfterMs: null,
        staleSince: moment.feed.staleSince,
        previous: one.kept.state,
        now: at,
      })
      this.#carryOut(decision, one, subject, moment)
      nextAt = Math.min(nextAt, decision.nextCheckAt ?? NEVER)
      if (one.rule.event.params.suspend !== undefined)
        wishes.push({ rule: one.rule, subject, wish: decision.wish, permission: permission.suspend })
    }
    if (!isEnded) wishes.push(...this.#withdrawFrom(subject, attached, at, cycle))
    return { wishes, nextAt: Math.max(nextAt, at + TICK_MS) }
  }

  #covers(rule: Rule, subject: TimelineSubject): boolean {
    if (!subject.isWatched || rule.subject !== subject.kind) return false
    const { tenant: _, ...match } = rule.match
    return isAttached({ ...rule, match: this.#isAlone ? {} : match }, subject.matched)
  }

  async #outcomeOf(rule: Rule, facts: Facts): Promise<RuleOutcome> {
    const { occurrence } = rule.event.params
    const read = [rule.conditions, ...(rule.clear === null ? [] : [rule.clear])].flatMap(factsRead)
    const key = JSON.stringify([rule.name, ...[...read, occurrence ?? ''].map((name) => facts[name] ?? null)])
    const known = this.#outcomes.get(key)
    if (known !== undefined) return known
    this.#coverage.note(rule.name, facts)
    const [outcome] = await evaluateSubject([rule], facts)
    if (outcome === undefined) throw new Error('the engine gave no outcome')
    this.#outcomes.set(key, outcome)
    return outcome
  }

  #alertOf({ name: rule }: Rule, { kind, id, name }: TimelineSubject, scope: string, at: number): Kept {
    const known = this.#alerts.find(
      (one) => one.rule === rule && one.kind === kind && one.id === id && one.scope === scope,
    )
    if (known !== undefined) return known
    const kept: Kept = { rule, kind, id, name, scope, state: unseen(at) }
    this.#alerts.push(kept)
    return kept
  }

  #quietFor(rule: Rule, level: LogLevel, subject: TimelineSubject) {
    const { sharedPoolId } = subject
    const near = this.#alerts.filter(
      ({ kind, id }) => (kind === subject.kind && id === subject.id) || (kind === 'pool' && id === sharedPoolId),
    )
    return inhibitorOf(inhibitorsAmong(near, byName(this.#rules)), { rule, level, subject, sharedPoolId })
  }

  #carryOut(
    decision: AlertDecision,
    { rule, kept }: { readonly rule: Rule; readonly kept: Kept },
    subject: TimelineSubject,
    { at, cycle, isEnded }: Moment,
  ): void {
    const waiting = new Set(this.notices.filter(({ dueAt }) => dueAt > at).map(({ key }) => key))
    const taken = new Set(decision.takeBack?.fired.map(({ key }) => key).filter((key) => waiting.has(key)) ?? [])
    this.notices = this.notices.filter(({ key }) => !taken.has(key))
    const { next, notices } = settled(decision, taken)
    const toldOf = (telling: Telling): Told => {
      const message = tellingMessage(rule, subject.facts, telling.kind, next.step)
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
    this.#keep(kept, next, at)
  }

  #keep(kept: Kept, next: AlertState, at: number): void {
    const { rule, name, scope } = kept
    if (kept.state.phase !== next.phase) this.phases.push({ at, rule, subject: name, scope, phase: next.phase })
    kept.state = next
  }

  /** Withdraws the open alerts of rules that no longer cover a subject. */
  #withdrawFrom(subject: TimelineSubject, attached: readonly Rule[], at: number, cycle: Cycle): Wished[] {
    const left = this.#alerts.filter(
      (one) =>
        one.kind === subject.kind &&
        one.id === subject.id &&
        (one.scope === '' || one.scope === cycle.key) &&
        isOpen(one.state) &&
        !attached.some(({ name }) => name === one.rule),
    )
    return left.flatMap((kept): Wished[] => {
      const { rule: name, scope, state: previous } = kept
      const decision = withdrawAlert({ name: { rule: name, subject, scope }, previous, now: at })
      const rule = this.#rules.find((one) => one.name === name)
      this.entries.push(
        ...decision.entries.map((telling) => ({
          at,
          kind: telling.kind,
          key: telling.key,
          rule: name,
          subject: subject.name,
          level: LogLevel.Info,
          message: `Rule ${name} no longer watches ${subject.name}`,
        })),
      )
      const gone = new Set(decision.takeBack?.fired.map(({ key }) => key))
      this.notices = this.notices.filter(({ key, dueAt }) => dueAt <= at || !gone.has(key))
      this.#keep(kept, decision.next, at)
      return rule === undefined ? [] : [{ rule, subject, wish: decision.wish, permission: 'no' }]
    })
  }
}

function waitOf(level: LogLevel, { startsAt, endsAt }: Cycle, isEnded: boolean): number {
  const length = endsAt - startsAt
  return level === LogLevel.Critical && !isEnded
    ? mailWaits(length).forNextMs
    : shortenedWait(GROUP_FIRST_MS, length, 60)
}
