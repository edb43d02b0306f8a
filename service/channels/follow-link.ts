/**
 * Follows a link of a mail: it acknowledges an alert, silences it for its cycle, or ends mails below critical. Takes the
 * last two back.
 */

import type { AlertLink, Link } from '../../domain/channels/link.ts'
import { LogLevel } from '../../domain/codes.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { isFiring } from '../../rules/alerts/alert-state.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { acknowledgeAlert } from '../alerts/acknowledge-alert.ts'
import { loadAlerts, lockAlerts } from '../alerts/rows/alerts.ts'
import { openSilences } from '../alerts/rows/silences.ts'
import { tagPatterns } from '../alerts/rows/tag-patterns.ts'
import { addSilence, endSilence } from '../alerts/silence-alerts.ts'
import { poolName } from '../pools/rows/pools.ts'
import { simLabels } from '../sims/rows/sims.ts'
import { findTenant, readNoticeSettings } from '../tenants/rows/tenants.ts'
import { runningCycle } from '../usage/rows/cycles.ts'
import { changeNotices } from './change-notices.ts'

/**
 * `open`: it can be done. `done`: it is, by this link or otherwise. `undone`: it was taken back just now. `over`: the
 * alert, its cycle or its subject has ended, so there is nothing to do.
 */
type LinkStatus = 'open' | 'done' | 'undone' | 'over'

interface ForTenant {
  readonly tenantName: string
  readonly status: LinkStatus
}

interface ForAlert extends ForTenant {
  readonly rule: string
  /** Name of the pool, tag or ICCID of the SIM, pattern of the tag; null for the tenant itself. */
  readonly subject: { readonly kind: Exclude<SubjectKind, 'tenant'>; readonly label: string } | null
}

/** A link, and how things stand about it. Instants are epoch milliseconds. */
export type LinkOutlook =
  | (ForAlert & {
      readonly purpose: 'ack'
      /** Since when it fires; null if it does not. */
      readonly since: number | null
    })
  | (ForAlert & {
      readonly purpose: 'mute'
      /** Key of the cycle that the link is for. */
      readonly cycle: string
      /** When the running cycle ends. */
      readonly endsAt: number
      /** Id of the silence; null if there is none. */
      readonly silenceId: number | null
    })
  | (ForTenant & {
      readonly purpose: 'unsubscribe'
      /** The level to go back to. */
      readonly mailedBefore: LogLevel
    })

/** Reads the effect that a link would have now. Changes nothing. @returns undefined if there is no such tenant */
export async function readLink(tx: TenantTx, link: Link): Promise<LinkOutlook | undefined> {
  const tenant = await findTenant(tx)
  if (tenant === undefined) return undefined
  const known = { tenantName: tenant.name }
  if (link.purpose === 'unsubscribe') return { ...known, purpose: 'unsubscribe', ...(await unsubscribed(tx)) }
  const label = await labelOf(tx, link)
  const isGone = label === undefined
  const { kind, id } = link.subject
  const subject = kind === 'tenant' ? null : { kind, label: label ?? String(id) }
  const about = { ...known, rule: link.rule, subject }
  return link.purpose === 'ack'
    ? { ...about, purpose: link.purpose, ...(await acknowledgement(tx, link)) }
    : { ...about, purpose: link.purpose, cycle: link.cycle, ...(await silenceFor(tx, link, isGone)) }
}

/** The label of a link's subject; empty for the tenant, undefined for a subject that no longer exists. */
async function labelOf(tx: TenantTx, { subject: { kind, id } }: AlertLink): Promise<string | undefined> {
  switch (kind) {
    case 'sim':
      return (await simLabels(tx, [id])).get(id)
    case 'pool':
      return poolName(tx, id)
    case 'tag':
      return (await tagPatterns(tx, [id])).get(id)
    case 'tenant':
      return ''
  }
}

async function unsubscribed(tx: TenantTx): Promise<{ status: LinkStatus; mailedBefore: LogLevel }> {
  const { mailsFrom = LogLevel.Critical } = (await readNoticeSettings(tx)) ?? {}
  if (mailsFrom === LogLevel.Critical) return { status: 'done', mailedBefore: LogLevel.Info }
  return { status: 'open', mailedBefore: mailsFrom }
}

async function acknowledgement(tx: TenantTx, { rule, subject, cycle }: AlertLink) {
  const stored = await loadAlerts(tx, [subject], [cycle, ''])
  const firing = stored.filter((alert) => alert.rule === rule && isFiring(alert.state)).map(({ state }) => state)
  if (firing.length === 0) return { status: 'over' as const, since: null }
  const since = Math.min(...firing.map(({ began }) => began))
  const isSeen = firing.every(({ acknowledged }) => acknowledged !== undefined)
  return { status: isSeen ? ('done' as const) : ('open' as const), since }
}

async function silenceFor(tx: TenantTx, { rule, subject, cycle }: AlertLink, isGone: boolean) {
  const { key, endsAt } = await runningCycle(tx)
  if (isGone || key !== cycle) return { status: 'over' as const, endsAt, silenceId: null }
  const { simId = null, poolId = null } = silenced(subject)
  const own = (await openSilences(tx)).find(
    (silence) =>
      silence.rule === rule &&
      silence.simId === simId &&
      silence.poolId === poolId &&
      silence.tag === null &&
      silence.level === null &&
      silence.endsAt >= endsAt,
  )
  return { status: own === undefined ? ('open' as const) : ('done' as const), endsAt, silenceId: own?.id ?? null }
}

/** What a silence names beside the rule. A rule about a tag is about no other. */
const silenced = ({ kind, id }: AlertLink['subject']): { simId?: number; poolId?: number } =>
  kind === 'sim' ? { simId: id } : kind === 'pool' ? { poolId: id } : {}

const named = (subject: AlertLink['subject']) => (subject.kind === 'tag' ? { tagId: subject.id } : silenced(subject))

/**
 * Carries out a link, unless it is done. Safe to run twice, also at the same time.
 *
 * @returns the state afterwards; undefined if there is no such tenant
 * @throws ServiceError `silence_limit`
 */
export async function followLink(tx: TenantTx, link: Link): Promise<LinkOutlook | undefined> {
  // Only one at a time: the second finds it done.
  await lockAlerts(tx)
  const before = await readLink(tx, link)
  if (before === undefined || before.status !== 'open') return before
  await carryOut(tx, link)
  const after = await readLink(tx, link)
  return before.purpose === 'unsubscribe' && after?.purpose === 'unsubscribe'
    ? { ...after, mailedBefore: before.mailedBefore }
    : after
}

/**
 * Takes back what a link has done: ends its silence, or mails alerts again. An acknowledgement stays. Safe to run twice.
 *
 * @param mailsFrom lowest level of alerts to mail again
 * @returns as {@link followLink}
 */
export async function undoLink(tx: TenantTx, link: Link, mailsFrom: LogLevel): Promise<LinkOutlook | undefined> {
  await lockAlerts(tx)
  const before = await readLink(tx, link)
  if (before === undefined || before.status === 'over' || before.purpose === 'ack') return before
  if (before.status === 'done') {
    if (before.purpose === 'unsubscribe') await mailFrom(tx, mailsFrom)
    else if (before.silenceId !== null) await endSilence(tx, before.silenceId)
  }
  const after = await readLink(tx, link)
  return after === undefined ? undefined : { ...after, status: 'undone' }
}

async function carryOut(tx: TenantTx, link: Link): Promise<void> {
  switch (link.purpose) {
    case 'ack':
      return acknowledgeAlert(tx, { rule: link.rule, ...named(link.subject) }, link.cycle)
    case 'mute': {
      const reason = 'Asked for by a link in a mail'
      await addSilence(tx, { rule: link.rule, ...silenced(link.subject), lasts: 'cycle', reason })
      return
    }
    case 'unsubscribe':
      return mailFrom(tx, LogLevel.Critical)
  }
}

async function mailFrom(tx: TenantTx, mailsFrom: LogLevel): Promise<void> {
  const settings = await readNoticeSettings(tx)
  if (settings !== undefined) await changeNotices(tx, { ...settings, mailsFrom })
}
