/** Decides which waiting notifications leave now, and in which mails. Pure; instants are epoch milliseconds. */

import type { MailKind } from '../../domain/channels/mail.ts'
import { causeOf } from '../../domain/notifications/cause.ts'
import type { MailWaits } from '../../domain/notifications/waits.ts'
import type { StoredNotification } from '../../store/notifications.ts'

export interface Waiting extends StoredNotification {
  readonly dueAt: number
  readonly createdAt: number
}

/** A mail of the last hour. */
export interface PastMail {
  readonly kind: MailKind
  readonly at: number
}

export interface MailPlan {
  readonly mails: readonly { readonly kind: MailKind; readonly parts: readonly Waiting[] }[]
  /** Due notifications that wait longer. */
  readonly putOff: readonly { readonly id: number; readonly at: number }[]
}

/** From the third mail within ten minutes, causes share a mail. */
const MOST_ALONE = 2
/** Beyond these within an hour, causes go into digests. */
const MOST_IN_AN_HOUR = 20

const OF_CAUSES: ReadonlySet<MailKind> = new Set<MailKind>(['cause', 'joined', 'digest'])

/** The waiting notifications of a cause. */
type Cause = readonly Waiting[]

/**
 * Plans the mails of a tenant. A cause leaves once no notification of it has been added for a while. Each summary
 * leaves alone. Notifications below critical leave together, as soon as one of them is due; a cause takes none of them
 * along.
 *
 * @param past mails of the last hour; only those of causes are counted
 */
export function planMails(
  waiting: readonly Waiting[],
  past: readonly PastMail[],
  waits: MailWaits,
  now: number,
): MailPlan {
  const summaries = waiting.filter(({ body, dueAt }) => body.kind === 'summary' && dueAt <= now)
  const [causes, grouped] = apart(waiting.filter(({ body }) => body.kind !== 'summary'))
  const counted = past.filter(({ kind, at }) => OF_CAUSES.has(kind) && at > now - waits.stormMs)
  const isStorm = counted.length >= MOST_IN_AN_HOUR
  const notBefore = isStorm ? lastDigestAt(counted) + waits.soonMs : Number.NEGATIVE_INFINITY
  const recent = counted.filter(({ at }) => at > now - waits.soonMs).length

  // After many mails, all causes wait until the first of them has waited the longest time.
  const joint = isStorm || recent >= MOST_ALONE ? oldestOf(causes.flat()) + waits.mostMs : null
  const leavesAt = (cause: Cause) => Math.max(notBefore, joint ?? restsAt(cause, waits))
  const ready = causes.filter((cause) => leavesAt(cause) <= now)
  const mails = [
    ...(isStorm ? [mailOf('digest', ready.flat())] : causeMails(ready, MOST_ALONE - recent)),
    mailOf('grouped', grouped.some(({ dueAt }) => dueAt <= now) ? grouped : []),
    ...summaries.map((one) => mailOf('summary', [one])),
  ]
  return {
    mails: mails.filter(({ parts }) => parts.length > 0),
    putOff: causes.flatMap((cause) => laterOf(cause, leavesAt(cause), now)),
  }
}

/** Separates notifications mailed by cause from grouped ones. */
function apart(all: readonly Waiting[]): [readonly Cause[], readonly Waiting[]] {
  const byCause = Map.groupBy(all, ({ body }) => (body.kind === 'summary' ? null : causeOf(body)))
  const grouped = byCause.get(null) ?? []
  byCause.delete(null)
  return [[...byCause.values()], grouped]
}

const lastDigestAt = (past: readonly PastMail[]): number =>
  Math.max(...past.flatMap(({ kind, at }) => (kind === 'digest' ? [at] : [])), Number.NEGATIVE_INFINITY)

const oldestOf = (parts: readonly Waiting[]): number => Math.min(...parts.map(({ createdAt }) => createdAt))

/** When nothing more of a cause is waited for. */
const restsAt = (cause: Cause, { mostMs }: MailWaits): number =>
  Math.min(oldestOf(cause) + mostMs, Math.max(...cause.map(({ dueAt }) => dueAt)))

/** One mail for each cause, if there are few of them. */
function causeMails(ready: readonly Cause[], few: number) {
  return ready.length <= Math.max(1, few)
    ? ready.map((cause) => mailOf('cause', cause))
    : [mailOf('joined', ready.flat())]
}

const mailOf = (kind: MailKind, parts: readonly Waiting[]) => ({ kind, parts })

const laterOf = (all: readonly Waiting[], at: number, now: number) =>
  at > now ? all.filter(({ dueAt }) => dueAt <= now).map(({ id }) => ({ id, at })) : []
