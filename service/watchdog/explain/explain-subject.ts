/**
 * Explains the results of rules for a subject now: with the facts, engine and decision of an evaluation, but nothing is
 * written. So it predicts the next evaluation.
 */
import { labelOf, WatchdogMode } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type { Consequences, ExplainedRule, Explanation } from '../../../domain/rules/explanation.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import { type StoredAlert, scopesAt } from '../../../rules/alerts/alert-state.ts'
import { decideAll, type Evaluation } from '../../../rules/alerts/decide-all.ts'
import { keyOfMark } from '../../../rules/alerts/keys.ts'
import {
  isWatched,
  matchedOf,
  modeOf,
  NOUNS,
  ownModeOf,
  type SubjectFacts,
  subjectKey,
} from '../../../rules/alerts/subject.ts'
import { evaluateSubject } from '../../../rules/engine/evaluate-subject.ts'
import { misfitsOf } from '../../../rules/engine/match.ts'
import { leavesOn } from '../../../rules/explain/leaves.ts'
import { goalOf, nearestMoves, reachedInTime } from '../../../rules/explain/nearest-moves.ts'
import { comparisonsOf, inTimeWords, moveWords } from '../../../rules/explain/words.ts'
import { ALL_FACTS } from '../../../rules/facts-needed.ts'
import type { Rule } from '../../../rules/rule.ts'
import { heldBack } from '../../../store/due.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { loadAlerts } from '../../alerts/rows/alerts.ts'
import { knownTag } from '../../alerts/rows/tag-patterns.ts'
import { readRoom } from '../../enforcement/guard.ts'
import { knownPool } from '../../pools/rows/pools.ts'
import type { ReadRules } from '../../rules/rules-in-force.ts'
import { knownSim } from '../../sims/rows/sims.ts'
import { runningCycle } from '../../usage/rows/cycles.ts'
import { groundsOf } from '../grounds.ts'
import { alertsOf, readAnswers } from '../guard-firing.ts'
import { type EvaluationBatch, readBatch, viewSituation } from '../read-batch.ts'
import { decisionsOf, notOpen, postponed } from './explain-decisions.ts'
import { enforcedBy, type Followable, NOTHING_FOLLOWED, readFollowed } from './read-followed.ts'

interface Findings {
  readonly tx: TenantTx
  readonly subject: Subject
  readonly batch: EvaluationBatch
  /** Undefined: the subject is gone, and no rule watches it. */
  readonly facts: SubjectFacts | undefined
  readonly mode: WatchdogMode | null
  /** By rule. */
  readonly evaluations: ReadonlyMap<string, Evaluation>
  readonly alerts: ReadonlyMap<string, StoredAlert>
  readonly isOpen: boolean
  readonly isPostponed: boolean
}

/** @param only name of a rule @throws ServiceError `sim_not_found`, `pool_not_found`, `tag_not_found`, `rule_not_found` */
export async function explainSubject(
  tx: TenantTx,
  subject: Subject,
  only: string | undefined,
  readRules: ReadRules,
): Promise<Explanation> {
  const label = await labelOfSubject(tx, subject)
  const inForce = await readRules(tx)
  const { isOpen, ...cycle } = await runningCycle(tx)
  const batch = await readBatch(tx, [subject], inForce, await viewSituation(tx, cycle), ALL_FACTS)
  const stored = await loadAlerts(tx, [subject], scopesAt(batch.moment))
  const [facts] = batch.subjects
  const found: Findings = {
    tx,
    subject,
    batch,
    facts,
    mode: facts === undefined ? null : ownModeOf(facts),
    evaluations: await evaluationsOf(tx, batch, stored),
    alerts: new Map(stored.map((alert) => [alert.rule, alert])),
    isOpen,
    isPostponed: (await heldBack(tx)).some((one) => subjectKey(one) === subjectKey(subject)),
  }
  const rules = inForce.rules.filter(
    ({ name, subject: kind }) => kind === subject.kind && (only === undefined || name === only),
  )
  const former = stored.filter(({ rule }) => !batch.rules.has(rule) && (only === undefined || rule === only))
  if (only !== undefined && rules.length + former.length === 0)
    throw new ServiceError('rule_not_found', `There is no rule ${only} about ${NOUNS[subject.kind]}s in force.`)
  const followed = await followedBy(found, [...rules.map(({ name }) => name), ...former.map(({ rule }) => rule)])
  const explained = [
    ...rules.map((rule) => explainedRule(rule, found, followed.get(rule.name))),
    ...former.map((alert) => removedRule(alert, found, followed.get(alert.rule))),
  ]
  return {
    of: 'subject',
    at: tx.now.toISOString(),
    subject: { ...subject, label },
    cycle: cycle.key,
    entry: null,
    note: null,
    rules: explained.toSorted((a, b) => Number(b.isAttached) - Number(a.isAttached)),
  }
}

async function labelOfSubject(tx: TenantTx, { kind, id }: Subject): Promise<string> {
  switch (kind) {
    case 'sim':
      return (await knownSim(tx, id)).label
    case 'pool':
      return knownPool(tx, id)
    case 'tag':
      return knownTag(tx, id)
    case 'tenant':
      return tx.tenantId
  }
}

/** Evaluates and decides, as `evaluateAll` would. The guard is asked, and nothing is counted. */
async function evaluationsOf(
  tx: TenantTx,
  batch: EvaluationBatch,
  stored: readonly StoredAlert[],
): Promise<ReadonlyMap<string, Evaluation>> {
  const [subject] = batch.subjects
  if (subject === undefined) return new Map()
  const evaluated = [{ ...subject, outcomes: await evaluateSubject(subject.rules, subject.facts) }]
  const deciding = { evaluated, gone: [], stored }
  const answers = await readAnswers(tx, stored)
  const decided = decideAll(batch, deciding, answers).evaluations
  const held = new Map<string, number>()
  for (const { decision, outcome } of decided) {
    if (!decision.counts) continue
    const { name } = outcome.rule
    const { free, open = 0 } = await readRoom(tx, alertsOf(name, batch.moment.cycle), { kind: subject.kind, count: 1 })
    if (free === 0) held.set(name, open)
  }
  const evaluations =
    held.size === 0
      ? decided
      : decideAll(batch, deciding, (rule, about, alert) => held.get(rule) ?? answers(rule, about, alert)).evaluations
  return new Map(evaluations.map((one) => [one.outcome.rule.name, one]))
}

async function followedBy(
  { tx, subject, batch, evaluations, alerts }: Findings,
  rules: readonly string[],
): Promise<ReadonlyMap<string, Consequences>> {
  const { key } = batch.moment.cycle
  const open = rules.flatMap((rule): Followable[] => {
    const alert = alerts.get(rule)
    if (alert === undefined) return []
    const { told, mailed, began, guard } = alert.state
    const next = evaluations.get(rule)?.decision.next.guard ?? guard
    return [
      {
        rule,
        keys: [...new Set([...told, ...mailed])].map((mark) => keyOfMark({ rule, subject, scope: alert.scope }, mark)),
        since: told.length === 0 && alert.lastSignal === null ? null : began,
        workflowIds: alert.lastSignal === null ? [] : enforcedBy(tx.tenantId, subject, key),
        holdIds: next?.hold === undefined || next.hold === 0 ? [] : [next.hold],
      },
    ]
  })
  const followed = await readFollowed(tx, subject, open)
  return new Map(open.map(({ rule }, n) => [rule, followed[n] ?? NOTHING_FOLLOWED]))
}

const shownAlert = (alert: StoredAlert | undefined, { kind }: Subject): ExplainedRule['alert'] =>
  alert === undefined
    ? null
    : {
        phase: alert.state.phase,
        since: new Date(alert.state.since).toISOString(),
        ruleVersion: alert.ruleVersion,
        changedAt: alert.evaluatedAt.toISOString(),
        leaves: comparisonsOf(alert.explanation, kind),
        lastSignal: alert.lastSignal,
      }

type Misfit = ExplainedRule['misfits'][number]

function misfitsFor(rule: Rule, { tx, facts, subject, batch }: Findings): Misfit[] {
  const noun = NOUNS[subject.kind]
  if (facts === undefined) {
    return [{ field: 'subject', expected: 'one that is watched', got: null, words: `The ${noun} was deleted.` }]
  }
  const own: Misfit[] = []
  if (facts.kind === 'sim' && facts.row.exempt)
    own.push({ field: 'exempt', expected: 'false', got: 'true', words: 'The SIM is exempt from the watchdog.' })
  else if (!isWatched(facts)) {
    const words = `The watchdog is Disabled for the ${noun}: no rule watches it.`
    own.push({ field: 'mode', expected: 'Monitor or Enforce', got: labelOf(WatchdogMode, modeOf(facts)), words })
  }
  const fields = misfitsOf(rule, matchedOf(facts, tx.tenantId, batch.moment)).map(({ field, expected, got }) => ({
    field,
    expected,
    got,
    words:
      field === 'stage'
        ? 'The rule is in stage off: it is attached to nobody.'
        : `match.${field} asks for ${expected}; the ${noun} has ${got === null || got === '' ? 'none' : got}.`,
  }))
  return [...own, ...fields]
}

/** A rule about which nothing was decided. */
const undecided = {
  isMet: null,
  leaves: [],
  isClear: null,
  clearLeaves: [],
  nearest: [],
  phase: null,
  since: null,
  decisions: [],
}

function explainedRule(rule: Rule, found: Findings, followed: Consequences = NOTHING_FOLLOWED): ExplainedRule {
  const { batch, mode, subject } = found
  const common = {
    rule: rule.name,
    version: batch.rulesVersion,
    misfits: misfitsFor(rule, found),
    stage: rule.event.params.stage,
    mode,
    alert: shownAlert(found.alerts.get(rule.name), subject),
    followed,
  }
  const one = found.evaluations.get(rule.name)
  if (one === undefined || common.misfits.length > 0) return { ...undecided, ...common, isAttached: false }
  const grounds = groundsOf(one, batch)
  const { outcome } = one
  const hasFailed = outcome.error !== undefined
  const leaves = hasFailed ? leavesOn(rule.conditions, rule.subject, one.subject.facts) : outcome.explanation
  return {
    ...common,
    isAttached: true,
    isMet: hasFailed ? null : outcome.met,
    leaves: comparisonsOf(leaves, rule.subject),
    isClear: grounds.clear?.isMet ?? null,
    clearLeaves: comparisonsOf(grounds.clear?.leaves ?? [], rule.subject),
    nearest: hasFailed ? [] : nearestOf(one, batch),
    phase: grounds.phase,
    since: new Date(grounds.since).toISOString(),
    decisions: [
      ...(found.isOpen ? [] : [notOpen(batch.moment.cycle.key)]),
      ...(found.isPostponed ? [postponed()] : []),
      ...decisionsOf(grounds, batch.timeZone),
    ],
  }
}

const NOT_IN_FORCE = 'The rule is not in force: it was removed, or renamed.'

/** An alert whose rule is no longer in force. */
const removedRule = (alert: StoredAlert, { subject, mode }: Findings, followed = NOTHING_FOLLOWED): ExplainedRule => ({
  ...undecided,
  rule: alert.rule,
  version: alert.ruleVersion,
  isAttached: false,
  misfits: [{ field: 'rules', expected: 'a rule in force', got: null, words: NOT_IN_FORCE }],
  stage: null,
  mode,
  alert: shownAlert(alert, subject),
  followed,
})

/** Changes that would turn the rule: make it begin to hold, or end. */
function nearestOf({ outcome, subject: { facts }, decision }: Evaluation, batch: EvaluationBatch) {
  const { rule, met } = outcome
  const { at: now, cycle } = batch.moment
  const isToEnd = met || decision.next.phase === 'firing'
  const goal = goalOf(rule, isToEnd)
  const would = isToEnd ? 'ends' : 'holds'
  const ways = nearestMoves(goal, rule.subject, facts).map((moves): ExplainedRule['nearest'][number] => ({
    moves: [...moves],
    at: null,
    words: `${would} if ${moves.map((move) => moveWords(move, rule.subject)).join(', and ')}`,
  }))
  const at = reachedInTime(goal, rule.subject, facts, { now, cycle })
  if (at === null) return ways
  return [...ways, { moves: [], at: new Date(at).toISOString(), words: `${would} ${inTimeWords(at, batch.timeZone)}` }]
}
