/**
 * The notification about an alert. It states the event, amounts, start and reason; when the limit will be passed at the
 * present rate; and the next action and how to stop it.
 */
import { type LogLevel, labelOf, SimStatus } from '../../domain/codes.ts'
import { instant } from '../../domain/local-time.ts'
import type { AlertNotification, Reason } from '../../domain/notifications/notification.ts'
import { duration } from '../../domain/quantity.ts'
import { durationMs } from '../../domain/time/duration.ts'
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { Evaluation } from '../../rules/alerts/decide-all.ts'
import type { SubjectFacts } from '../../rules/alerts/subject.ts'
import type { Telling } from '../../rules/alerts/telling.ts'
import type { LeafExplanation } from '../../rules/engine/evaluate-subject.ts'
import { factsOf } from '../../rules/facts.ts'
import type { EvaluationBatch } from './read-batch.ts'

export interface Notice extends Evaluation {
  readonly telling: Telling
  readonly level: LogLevel
  /** With the label for the ICCID. */
  readonly message: string
}

/** The notification of a notice. Amounts are in MB; a non-numeric fact is null. Pure. */
export function notificationOf(batch: EvaluationBatch, notice: Notice): AlertNotification {
  const { about, subject, outcome, stored, telling } = notice
  const { rule } = outcome
  const { tenantId, moment } = batch
  const { at } = moment
  const isOver = telling.kind === 'resolved' || telling.kind === 'withdrawn'
  const isTagged = subject.kind === 'sim' && about.label !== subject.row.iccid
  return {
    kind: telling.kind === 'withdrawn' ? 'resolved' : telling.kind,
    key: telling.key,
    level: notice.level,
    at: new Date(at).toISOString(),
    tenantId,
    tenantName: batch.tenantName,
    timeZone: batch.timeZone,
    rule: { name: rule.name, file: rule.file, version: batch.rulesVersion, type: rule.event.type },
    subject: {
      kind: about.kind,
      id: about.kind === 'tenant' ? tenantId : about.id,
      label: about.label,
      ...(isTagged ? { iccid: subject.row.iccid } : {}),
    },
    ...(subject.kind === 'sim' && subject.facts.poolName !== null ? { poolName: subject.facts.poolName } : {}),
    message: notice.message,
    ...(telling.times > 1 ? { times: telling.times } : {}),
    ...(moment.isEnded ? { isOfEndedCycle: true } : { cycle: moment.cycle.key }),
    since: new Date(telling.since).toISOString(),
    ...(!isOver || stored === null ? {} : { lastedMs: at - stored.state.began }),
    facts: figuresOf(subject),
    pace: isOver ? null : limitPassedAt(subject, batch),
    ...nextOf(notice, batch),
    why: decisive(outcome.explanation).map((leaf) => reasonOf(leaf, subject.kind)),
    advice: `How to stop this: ${HOW_TO_STOP[subject.kind]}`,
  }
}

/** A comparison as people read it: codes by their label. */
function reasonOf({ fact, value, operator, operand }: LeafExplanation, kind: SubjectKind): Reason {
  const { label = fact, unit = null, codes = null } = factsOf(kind).get(fact) ?? {}
  const words = (one: FactValue): FactValue => (codes !== null && typeof one === 'number' ? labelOf(codes, one) : one)
  return {
    fact,
    label,
    value: words(value),
    operator,
    operand: typeof operand === 'object' && operand !== null ? operand.map(words) : words(operand),
    unit,
  }
}

/** The comparisons that held; all of them where none did, as in a `not`, or at the end of an alert. */
function decisive(leaves: readonly LeafExplanation[]): readonly LeafExplanation[] {
  const held = leaves.filter(({ result }) => result === true)
  return held.length > 0 ? held : leaves
}

/**
 * When the limit will be passed at the rate of the long burn window, the last twelfth of the cycle.
 *
 * @returns ISO 8601; null if it is passed already, or not in this cycle, or if the rate or the limit is 0 or unknown
 */
function limitPassedAt(subject: SubjectFacts, { moment: { at, knownTo, cycle } }: EvaluationBatch): string | null {
  if (!('limitMB' in subject.facts)) return null
  const { usageMB: usage, limitMB: limit, burnLongRatio: ratio } = subject.facts
  if (!limit || !ratio || usage === null || usage >= limit) return null
  const perMs = (ratio * limit) / (cycle.endsAt - cycle.startsAt)
  const passedAt = Math.max(at, knownTo + (limit - usage) / perMs)
  return passedAt < cycle.endsAt ? new Date(Math.round(passedAt)).toISOString() : null
}

/** A SIM in stock, without a tariff, a tenant and a tag have no limit. */
function figuresOf(subject: SubjectFacts): AlertNotification['facts'] {
  const { usageMB = null, overageMB = null } = subject.facts
  const isInStock =
    subject.kind === 'sim' && subject.row.status === SimStatus.Unprovisioned && subject.row.tariffType === null
  const { limitMB = null, usagePct = null } = isInStock || !('limitMB' in subject.facts) ? {} : subject.facts
  return { usageMB, limitMB, usagePct, overageMB }
}

/** The next action: as a sentence, and in a few words if there is one. */
function nextOf(
  { telling, outcome, permission, subject }: Notice,
  { moment, enforcementEnabled, timeZone }: EvaluationBatch,
): Pick<AlertNotification, 'whatNext' | 'follows'> {
  if (telling.kind === 'resolved') return { whatNext: 'Nothing: it is over.' }
  if (telling.kind === 'escalated')
    return { whatNext: 'It is not mailed again until it ends. Acknowledge it, so that others know it is looked after.' }
  const { type, params } = outcome.rule.event
  const { suspend } = params
  if (type === FEED_SILENT)
    return { whatNext: 'Because of usage nothing is suspended or brought back until it arrives. Have the feed mended.' }
  if (suspend === undefined) return { whatNext: 'Nothing: this is for your information.' }
  if (moment.isEnded)
    return { whatNext: 'Nothing is suspended: the billing cycle has ended.', follows: 'the cycle has ended' }
  const who = subject.kind === 'sim' ? 'the SIM' : `SIMs (${TARGETS[suspend.target]})`
  const not = (why: string) => ({ whatNext: `Nothing is suspended: ${why}`, follows: 'not suspended' })
  if (permission.suspend !== 'do')
    return not(`the watchdog only monitors here. In Enforce mode it would suspend ${who}.`)
  if (!enforcementEnabled) return not(`enforcement is switched off. Otherwise ${who} would be suspended.`)
  const graceMs = durationMs(suspend.grace ?? 'PT0S')
  const until =
    suspend.until === 'renewal'
      ? `until the next billing cycle begins at ${instant(moment.cycle.endsAt, timeZone)}`
      : 'until somebody activates them again'
  const suspended = subject.kind === 'sim' ? 'suspended' : 'SIMs suspended'
  if (graceMs === 0) return { whatNext: `The watchdog suspends ${who} now, ${until}.`, follows: suspended }
  const grace = duration(graceMs)
  const whatNext = `The watchdog suspends ${who} after a grace of ${grace}, ${until}.`
  return { whatNext, follows: `${suspended} in ${grace}` }
}

/** Type of the rule about the usage feed. */
export const FEED_SILENT = 'usage-feed-silent'

const TARGETS = {
  self: 'the SIM itself',
  largestExcess: 'those with the largest excess, until it covers the overage',
  aboveShare: 'all above their share',
  all: 'all of the pool',
} as const

const HOW_TO_STOP = {
  sim: 'Exempt the SIM from the watchdog, or give it another threshold or mode.',
  pool: 'Give the pool another threshold or mode.',
  tenant: 'Ask whoever runs the service to change the rule.',
  tag: 'Ask whoever runs the service to change the rule.',
} as const
