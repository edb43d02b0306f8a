/**
 * The notification about an alert. It says what happened, how much, since when and why. It says when the limit will be
 * passed at the present rate, what happens next, and how to stop it.
 */
import type { AlertNotification } from '../../notify/notification.ts'
import type { Transition } from '../../rules/alerts/alerts.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import { type SubjectFacts, subjectLabel } from './evaluation.ts'
import type { Batch } from './read-batch.ts'

/** A transition of an alert that is logged, with what led to it. */
export interface LoggedTransition {
  /** Key of the alert and kind of the transition. */
  readonly key: string
  readonly subject: SubjectFacts
  readonly outcome: RuleOutcome
  readonly transition: Transition
  readonly permission: Permission
  readonly message: string
}

/** The notification about one transition of an alert. Amounts are in MB; a fact that is no number is null. Pure. */
export function notificationOf(batch: Batch, tenantId: string, logged: LoggedTransition): AlertNotification {
  const { subject, outcome, transition } = logged
  const { rule } = outcome
  return {
    kind: transition.kind,
    key: logged.key,
    level: transition.level,
    at: new Date(batch.moment.at).toISOString(),
    tenantId,
    tenantName: batch.tenantName,
    rule: { name: rule.name, file: rule.file, version: batch.rulesVersion },
    subject: {
      kind: subject.kind,
      id: subject.kind === 'tenant' ? tenantId : subject.id,
      label: subjectLabel(subject),
    },
    message: logged.message,
    since: new Date(transition.since).toISOString(),
    facts: figuresOf(subject),
    pace: transition.kind === 'fired' ? limitPassedAt(subject, batch) : null,
    whatNext: whatNext(logged, batch),
    why: outcome.explanation.map(({ fact, value, operator, operand }) => ({ fact, value, operator, operand })),
    howToStop: HOW_TO_STOP[subject.kind],
  }
}

/**
 * When the limit will be passed at the rate of the long burn window, which is the last twelfth of the cycle.
 *
 * @returns ISO 8601; null if that is not in this cycle, or if the rate, the limit or what remains is 0 or unknown
 */
function limitPassedAt(subject: SubjectFacts, { moment: { at, cycle } }: Batch): string | null {
  if (subject.kind === 'tenant') return null
  const { remainingMB: remaining, limitMB: limit, burnLongRatio: ratio } = subject.facts
  if (!remaining || !limit || !ratio) return null
  const perMs = (ratio * limit) / (cycle.endsAt - cycle.startsAt)
  const passedAt = at + remaining / perMs
  return passedAt < cycle.endsAt ? new Date(Math.round(passedAt)).toISOString() : null
}

/** A tenant has no limit of its own. */
function figuresOf(subject: SubjectFacts): AlertNotification['facts'] {
  if (subject.kind === 'tenant') {
    const { usageMB, overageMB } = subject.facts
    return { usageMB, limitMB: null, usagePct: null, overageMB }
  }
  const { usageMB, limitMB, usagePct, overageMB } = subject.facts
  return { usageMB, limitMB, usagePct, overageMB }
}

function whatNext(
  { transition, outcome, permission, subject }: LoggedTransition,
  { moment, enforcementEnabled }: Batch,
): string {
  if (transition.kind === 'resolved') return 'Nothing: it is over.'
  const { suspend } = outcome.rule.event.params
  if (suspend === undefined) return 'Nothing: this is for your information.'
  const who = subject.kind === 'sim' ? 'the SIM' : `SIMs (${TARGETS[suspend.target]})`
  if (permission.suspend !== 'do')
    return `Nothing is suspended: the watchdog only monitors here. In Enforce mode it would suspend ${who}.`
  if (!enforcementEnabled)
    return `Nothing is suspended: enforcement is switched off. Otherwise ${who} would be suspended.`
  const when = suspend.grace === undefined || suspend.grace === 'PT0S' ? 'now' : `after a grace of ${suspend.grace}`
  const until =
    suspend.until === 'renewal'
      ? `until the next billing cycle begins at ${readable(moment.cycle.endsAt)}`
      : 'until somebody activates them again'
  return `The watchdog suspends ${who} ${when}, ${until}.`
}

const readable = (at: number) => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`

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
} as const
