/** Reads an alert with its episodes, and what followed from each. */
import type { AlertDetail } from '../../../domain/alerts/alert.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { isOpen } from '../../../rules/alerts/alert-state.ts'
import { type AlertName, keyOfMark, keyOfTelling, TELLING_KINDS, withoutStep } from '../../../rules/alerts/keys.ts'
import { silencesOver } from '../../../rules/alerts/quiet.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { toAlerts } from '../../alerts/page-of-alerts.ts'
import { findAlerts, type ListedAlert } from '../../alerts/rows/open-alerts.ts'
import { openSilences, readSilences } from '../../alerts/rows/silences.ts'
import type { ReadRules } from '../../rules/rules-in-force.ts'
import { openSuspension } from '../../sims/rows/suspensions.ts'
import { entriesOf, type StoredEntry } from '../rows/followed.ts'
import { enforcedBy, readFollowed } from './read-followed.ts'

/** Most episodes shown, the newest ones. */
const MOST_EPISODES = 20

/** @throws ServiceError `alert_not_found` */
export async function readAlert(tx: TenantTx, id: number, rules: ReadRules): Promise<AlertDetail> {
  const [found] = await findAlerts(tx, [id])
  const [alert] = found === undefined ? [] : await toAlerts(tx, [found], (await rules(tx)).rules)
  if (found === undefined || alert === undefined) throw new ServiceError('alert_not_found', `There is no alert ${id}.`)
  const { rule, kind, subjectId, poolId, tag, state } = found
  const about = { rule, level: alert.level, subject: { kind, id: subjectId }, poolId, tag }
  const silences = isOpen(state) ? silencesOver(await openSilences(tx), about) : []
  return {
    ...alert,
    silences: await readSilences(
      tx,
      silences.map((silence) => silence.id),
    ),
    suspension: kind === 'sim' ? await openSuspension(tx, subjectId, rule) : null,
    episodes: await episodesOf(tx, found),
  }
}

/** Keys of the notices of an alert that it remembers; none if there is no such alert. */
export async function noticeKeysOf(tx: TenantTx, id: number): Promise<string[]> {
  return (await findAlerts(tx, [id])).flatMap((alert) => {
    const { rule, kind, subjectId, scope } = alert
    return marksOf(alert).map((mark) => keyOfMark({ rule, subject: { kind, id: subjectId }, scope }, mark))
  })
}

interface EpisodeFound {
  readonly keys: readonly string[]
  readonly isPresent: boolean
  /** Epoch milliseconds; null: the log has no entry. */
  readonly beganAt: number | null
  readonly endedAt: number | null
  readonly end: 'resolved' | 'withdrawn' | null
}

/** The present or last episode, and earlier ones whose reports the alert remembers; newest first. */
async function episodesOf(tx: TenantTx, alert: ListedAlert): Promise<AlertDetail['episodes']> {
  const { rule, kind, subjectId, scope, state, lastSignal } = alert
  const subject = { kind, id: subjectId }
  const name = { rule, subject, scope }
  const present = withoutStep(state.part)
  const parts = partsOf(alert)
  const keys = new Map(parts.map((part) => [part, keysOf(name, alert, part)]))
  const entries = await entriesOf(tx, [...keys.values()].flat())
  const found = parts.map((part): EpisodeFound => {
    const own = keys.get(part) ?? []
    const episode = { keys: own, ...spanOf(entries.filter(({ key }) => own.includes(key))) }
    if (part !== present) return { ...episode, isPresent: false }
    const endedAt = isOpen(state) ? null : (episode.endedAt ?? state.since)
    return { ...episode, isPresent: true, beganAt: state.began, endedAt, end: isOpen(state) ? null : episode.end }
  })
  const followed = await readFollowed(
    tx,
    subject,
    found.map(({ keys: own, isPresent, beganAt }, n) => ({
      rule,
      keys: own,
      since: beganAt,
      until: found[n - 1]?.beganAt ?? null,
      workflowIds: !isPresent || lastSignal === null || scope === '' ? [] : enforcedBy(tx.tenantId, subject, scope),
      holdIds: isPresent && state.guard?.hold !== undefined && state.guard.hold !== 0 ? [state.guard.hold] : [],
    })),
  )
  return found.flatMap(({ beganAt, endedAt, end }, n) => {
    const one = followed[n]
    return one === undefined ? [] : [{ beganAt: instant(beganAt), endedAt: instant(endedAt), end, followed: one }]
  })
}

const instant = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const marksOf = ({ state: { told, mailed, shadow } }: ListedAlert): string[] => [
  ...new Set([...told, ...mailed, ...(shadow?.told ?? []), ...(shadow?.mailed ?? [])]),
]

const kindOf = (mark: string) => TELLING_KINDS.find((kind) => mark.startsWith(kind)) ?? 'fired'
const partIn = (mark: string): string => mark.slice(kindOf(mark).length)

/** The last parts of the keys of episodes, without their steps; newest first. */
function partsOf(alert: ListedAlert): string[] {
  const told = marksOf(alert).map((mark) => withoutStep(partIn(mark)))
  const present = withoutStep(alert.state.part)
  const earlier = [...new Set(told)].filter((part) => part !== present)
  return [present, ...earlier.toReversed()].slice(0, MOST_EPISODES)
}

const keysOf = (name: AlertName, alert: ListedAlert, part: string): string[] =>
  marksOf(alert)
    .filter((mark) => withoutStep(partIn(mark)) === part)
    .map((mark) => keyOfTelling(name, partIn(mark), kindOf(mark)))

/** @param entries of an episode, the oldest first */
function spanOf(entries: readonly StoredEntry[]): Pick<EpisodeFound, 'beganAt' | 'endedAt' | 'end'> {
  const ended = entries.findLast(({ key }) => key.endsWith('/resolved') || key.endsWith('/withdrawn'))
  const end = ended === undefined ? null : ended.key.endsWith('/resolved') ? 'resolved' : 'withdrawn'
  const began = entries.find(({ key }) => key.endsWith('/fired'))
  return { beganAt: began?.at.getTime() ?? null, endedAt: ended?.at.getTime() ?? null, end }
}
