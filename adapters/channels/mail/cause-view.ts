/** A mail of one cause: a rule, its findings, and its suspensions. */
import { causeOf, MOST_SUBJECTS, NOTICES_FILE } from '../../../domain/notifications/cause.ts'
import type { AlertNotification, Notification } from '../../../domain/notifications/notification.ts'
import { count, counted, megabytes } from '../../../domain/quantity.ts'
import {
  adviceTexts,
  type DigestGroup,
  type DigestView,
  groupHead,
  LABEL_CHARS,
  MESSAGE_CHARS,
  nextTexts,
} from './digest-view.ts'
import { KINDS, oneLine, shortenLabel, shortenName } from './format.ts'
import { labelText, SUBJECT_CHARS } from './subject.ts'
import { instantOf, sinceText, toneOf, usageText } from './views.ts'

/** Least of a pool's name in a subject. */
const NAME_CHARS = 12
/** As many as a list of mails has room for. */
const MOST_EXCESSES = 5
/** Most pools that are named, each with its number of SIMs. */
const MAX_POOLS = 5

/** The notifications, if they have a cause and all have the same; else null. */
export function alertsOfOneCause(notifications: readonly Notification[]): readonly AlertNotification[] | null {
  const alerts = notifications.filter((told) => told.kind !== 'summary')
  const causes = new Set(alerts.map(causeOf))
  const [cause] = causes
  return alerts.length === notifications.length && causes.size === 1 && cause !== null ? alerts : null
}

/**
 * The notification to show in full: a single one, or one finding about a subject that covers the actions on it. Else
 * null.
 */
export function inOne(notifications: readonly Notification[]): Notification | null {
  const [first] = notifications
  if (notifications.length <= 1) return first ?? null
  const alerts = alertsOfOneCause(notifications)?.toSorted((a, b) => a.at.localeCompare(b.at)) ?? []
  const [fired, second] = alerts.filter(({ kind }) => kind === 'fired')
  const last = alerts.at(-1)
  if (fired === undefined || second !== undefined || last === undefined || last === fired) return null
  if (new Set(alerts.map(subjectKey)).size > 1) return null
  return { ...fired, whatNext: `${last.message} ${last.whatNext}`, advice: last.advice }
}

const subjectKey = ({ subject }: AlertNotification): string => `${subject.kind}/${subject.id}`

/** A row of the table: a finding about a subject, or an action on it. */
interface Row {
  readonly main: AlertNotification
  readonly followed: readonly AlertNotification[]
}

/** Makes a view of notifications of one cause. There is at least one. */
export function causeView(alerts: readonly AlertNotification[]): DigestView {
  const rows = rowsOf(alerts)
  return {
    tone: toneOf(worstOf(alerts)),
    subject: subjectOf(alerts),
    headline: headlineOf(alerts),
    counts: whereAndWhen(alerts),
    preheader: excessesText(rows) ?? whereAndWhen(alerts),
    tenant: oneLine(alerts[0]?.tenantName ?? ''),
    groups: [groupOf(alerts, rows)],
    more: null,
  }
}

/**
 * Each finding has a row, the largest excess first, and pools before SIMs. Actions follow the subject's last finding.
 */
function rowsOf(alerts: readonly AlertNotification[]): Row[] {
  const rows = [...Map.groupBy(alerts, subjectKey).values()].flatMap((ofSubject) => {
    const inOrder = ofSubject.toSorted((a, b) => a.at.localeCompare(b.at))
    const fired = inOrder.filter(({ kind }) => kind === 'fired')
    const done = inOrder.filter(({ kind }) => kind !== 'fired')
    const [main, ...followed] = fired.length === 0 ? done : [...fired.slice(-1), ...done]
    const earlier = fired.slice(0, -1).map((told): Row => ({ main: told, followed: [] }))
    return main === undefined ? earlier : [...earlier, { main, followed }]
  })
  const isPool = ({ main }: Row) => (main.subject.kind === 'pool' ? 1 : 0)
  return rows.toSorted((a, b) => isPool(b) - isPool(a) || excessMB(b.main) - excessMB(a.main))
}

/** "meter-003 +71 MB, meter-009 +64 MB …": what SIMs of a pool have used above their share; null without a pool. */
function excessesText(rows: readonly Row[]): string | null {
  const ofPool = rows.filter(({ main }) => main.causePoolId !== undefined && excessMB(main) > 0)
  if (ofPool.length === 0) return null
  const shown = ofPool
    .slice(0, MOST_EXCESSES)
    .map(({ main }) => `${shortenName(labelText(main.subject), LABEL_CHARS)} +${megabytes(excessMB(main))}`)
  return `${shown.join(', ')}${ofPool.length > shown.length ? ' …' : ''}`
}

/** Usage above the subject's own limit, in MB; 0 if it is not above, or unknown. */
const excessMB = ({ facts: { usageMB, limitMB } }: AlertNotification): number =>
  Math.max(0, (usageMB ?? 0) - (limitMB ?? Number.POSITIVE_INFINITY))

const worstOf = (alerts: readonly AlertNotification[]): AlertNotification =>
  alerts.reduce((worst, told) => (told.level > worst.level ? told : worst))

function groupOf(alerts: readonly AlertNotification[], rows: readonly Row[]): DigestGroup {
  const shown = rows.slice(0, MOST_SUBJECTS)
  return {
    ...groupHead(worstOf(alerts)),
    size: counted(alerts.length, 'notice'),
    rows: shown.map(rowOf),
    more:
      rows.length > shown.length
        ? `and ${count(rows.length - shown.length)} more: ${NOTICES_FILE}, attached, has them all`
        : null,
    next: nextTexts(rows.filter((row) => !hasActed(row, alerts)).map(latestOf)),
    advice: adviceTexts(rows.map(latestOf)),
  }
}

const latestOf = ({ main, followed }: Row): AlertNotification => followed.at(-1) ?? main

/** Whether a pool fires and SIMs of it are suspended in the same mail: the rows of the SIMs then show the next step. */
const hasActed = ({ main }: Row, alerts: readonly AlertNotification[]): boolean =>
  main.kind === 'fired' &&
  main.subject.kind === 'pool' &&
  alerts.some(({ kind, causePoolId }) => kind === 'suspended' && causePoolId === main.subject.id)

function rowOf({ main, followed }: Row): DigestGroup['rows'][number] {
  const excess = excessMB(main)
  const usage = usageText(main.facts)
  const figures = usage === null || excess === 0 ? usage : `${usage}, +${megabytes(excess)}`
  const isFinding = main.kind === 'fired'
  const done = isFinding ? followed : [main, ...followed]
  return {
    tone: toneOf(followed.at(-1) ?? main),
    label: shortenName(labelText(main.subject), LABEL_CHARS),
    message: shortenLabel(isFinding ? oneLine(main.message) : (figures ?? oneLine(main.message)), MESSAGE_CHARS),
    detail: [
      ...(isFinding ? [figures, `since ${sinceText(main)}`] : []),
      ...done.map((told) => `${KINDS[told.kind].done} ${instantOf(told, told.at)}`),
      ...done.flatMap(({ kind, follows }) => (isGrace(kind) && follows !== undefined ? [oneLine(follows)] : [])),
    ]
      .filter((part) => part !== null)
      .join(' · '),
  }
}

const isGrace = (kind: AlertNotification['kind']): boolean => kind === 'graceStarted' || kind === 'graceEnding'

/** The headline; a pool's name is cut if it is too long for a subject. */
function subjectOf(alerts: readonly AlertNotification[]): string {
  const excess = headlineOf(alerts).length - SUBJECT_CHARS
  const cut = (name: string) => shortenName(name, Math.max(Math.min(name.length, NAME_CHARS), name.length - excess))
  return shortenLabel(headlineOf(alerts, cut), SUBJECT_CHARS)
}

/**
 * "Pool North 340 MB over: 12 SIMs suspended", "180 SIMs over their limit, 170 suspended".
 *
 * @param named shortens a pool's name
 */
function headlineOf(alerts: readonly AlertNotification[], named = (name: string) => name): string {
  // An escalation is a separate cause.
  const { kind: first, rule } = worstOf(alerts)
  const isEscalated = first === 'escalated'
  const found = isEscalated ? alerts.map((told) => ({ ...told, kind: 'fired' as const })) : alerts
  const said = headlineOfFound(found, named) || `${counted(alerts.length, 'notice')} of rule ${oneLine(rule.name)}`
  return isEscalated ? `Not acknowledged: ${said}` : said
}

function headlineOfFound(alerts: readonly AlertNotification[], named: (name: string) => string): string {
  const simsThat = (wanted: AlertNotification['kind']) =>
    new Set(alerts.filter(({ kind, subject }) => kind === wanted && subject.kind === 'sim').map(subjectKey)).size
  const sims = [
    { n: simsThat('fired'), what: foundText(alerts) },
    { n: simsThat('suspended'), what: 'suspended' },
    { n: simsThat('broughtBack'), what: 'active again' },
    { n: simsThat('graceStarted'), what: 'in a grace that has begun' },
    { n: simsThat('graceEnding'), what: 'in a grace that ends' },
  ]
    .filter(({ n }) => n > 0)
    .map(({ n, what }, place) => `${place === 0 ? counted(n, 'SIM') : count(n)} ${what}`)
    .join(', ')
  const about = alerts.findLast(({ kind, subject }) => kind === 'fired' && subject.kind !== 'sim')
  if (about !== undefined) return [overText(about, named), sims].filter((part) => part !== '').join(': ')
  const [{ causePoolId, poolName } = {}] = alerts
  return causePoolId === undefined || poolName === undefined ? sims : `${sims} in ${named(oneLine(poolName))}`
}

function foundText(alerts: readonly AlertNotification[]): string {
  const found = alerts.filter(({ kind, subject }) => kind === 'fired' && subject.kind === 'sim')
  const areOver = found.every(({ facts }) => (facts.overageMB ?? 0) > 0)
  if (!areOver) return `found by rule ${oneLine(found[0]?.rule.name ?? '')}`
  return found.length === 1 ? 'over its limit' : 'over their limit'
}

function overText({ subject, facts, rule, message }: AlertNotification, named: (name: string) => string): string {
  if (subject.kind !== 'pool') return oneLine(message)
  const over = facts.overageMB ?? 0
  const label = `Pool ${named(labelText(subject))}`
  return over > 0 ? `${label} ${megabytes(over)} over` : `${label}: ${oneLine(rule.name)}`
}

/** "North 96, South 84; noticed 2026-11-20 02:10 UTC". The pool of a pool's rule is in the headline. */
function whereAndWhen(alerts: readonly AlertNotification[]): string {
  const instants = alerts.map(({ at }) => at).toSorted()
  const [alert] = alerts
  const shown = [instants.at(0), instants.at(-1)].map((at = '') => (alert === undefined ? at : instantOf(alert, at)))
  const [first, last] = shown
  const when = first === last ? `noticed ${first}` : `noticed ${first} to ${last}`
  const isOfPool = alerts.some(({ causePoolId, subject }) => causePoolId !== undefined || subject.kind === 'pool')
  return [isOfPool ? '' : poolsText(alerts), when].filter((part) => part !== '').join('; ')
}

function poolsText(alerts: readonly AlertNotification[]): string {
  const sims = new Map(alerts.filter(({ subject }) => subject.kind === 'sim').map((told) => [subjectKey(told), told]))
  const byPool = [...Map.groupBy(sims.values(), ({ poolName }) => poolName ?? '')]
    .filter(([name]) => name !== '')
    .toSorted(([, a], [, b]) => b.length - a.length)
  const shown = byPool.slice(0, MAX_POOLS).map(([name, { length }]) => `${oneLine(name)} ${count(length)}`)
  const left = byPool.length - shown.length
  return (left > 0 ? [...shown, `and ${counted(left, 'more pool')}`] : shown).join(', ')
}
