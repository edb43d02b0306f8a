/**
 * Sends a tenant's mails: puts due notifications into mails, then sends each mail.
 *
 *   notifications → mail (rows and Message-ID fixed, committed) → SMTP → sent (committed)
 *
 * A mail is sent at least once, in practice once. If the sender dies between the SMTP response and the commit, the mail
 * goes out again under the same Message-ID. Critical notifications leave at once; others are grouped.
 */

import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import { storable } from '../../domain/text.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import type { Notification } from '../../notify/notification.ts'
import type { Mail } from '../../notify/render.ts'
import type { MailError, Transport } from '../../notify/transport.ts'
import { isAway } from '../../store/away.ts'
import { insertEvent } from '../../store/events.ts'
import {
  type ClaimedMail,
  claimMail,
  insertMail,
  lockMailWork,
  noteDelivery,
  notificationsOf,
  settleMailWork,
  type WaitingNotification,
  waitingNotifications,
} from '../../store/mail/mails.ts'
import { pageOfLines, statementTotals } from '../../store/month-end/statements.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { findTenant } from '../../store/tenants/tenants.ts'
import { statementCsv } from '../month-end/statement-csv.ts'

/** How mails are rendered and sent. */
export interface Mailer {
  readonly render: (notifications: readonly Notification[]) => Mail
  readonly transport: Pick<Transport, 'send'>
}

/** How mails are tried. Times are in milliseconds. */
export interface MailOptions {
  readonly retryMaxMs: number
  readonly attempts: number
}

/** The most notifications in one mail. The rest goes into the next. */
const MOST_IN_ONE = 1000
/** Longer than any SMTP conversation that the transport allows. */
const LEASE_MS = 5 * 60_000
const RETRY_MIN_MS = 2000

/** Puts due notifications into mails, and sends mails until none is due. */
export async function sendMails(store: Store, mailer: Mailer, options: MailOptions, tenantId: string): Promise<void> {
  await inTenant(store, tenantId, putIntoMails)
  for (;;) {
    const mail = await inTenant(store, tenantId, (tx) => claimMail(tx, new Date(tx.now.getTime() + LEASE_MS)))
    if (mail === undefined) break
    await send(store, mailer, options, tenantId, mail)
  }
  await inTenant(store, tenantId, settleMailWork)
}

async function putIntoMails(tx: TenantTx): Promise<void> {
  if (!(await lockMailWork(tx))) return
  const recipient = (await findTenant(tx))?.billingEmail ?? ''
  // Without an address, notifications are kept and wait for one.
  if (recipient === '') return
  for (const batch of batchesOf(await waitingNotifications(tx, MOST_IN_ONE))) {
    await insertMail(tx, { recipient, grouped: batch.grouped }, batch.ids)
  }
}

interface Batch {
  readonly ids: readonly number[]
  readonly grouped: boolean
}

/**
 * Which notifications share a mail. Each summary goes alone. Due critical ones go together. All others go together, as
 * soon as one of them is due.
 */
function batchesOf(waiting: readonly WaitingNotification[]): Batch[] {
  const summaries = waiting.filter(({ body }) => body.kind === 'summary')
  const others = waiting.filter(({ body }) => body.kind !== 'summary')
  const critical = others.filter(({ body, due }) => body.level === LogLevel.Critical && due)
  const grouped = others.filter(({ body }) => body.level !== LogLevel.Critical)
  return [
    ...(critical.length > 0 ? [{ ids: critical.map(({ id }) => id), grouped: false }] : []),
    ...(grouped.some(({ due }) => due) ? [{ ids: grouped.map(({ id }) => id), grouped: true }] : []),
    ...summaries.filter(({ due }) => due).map(({ id }) => ({ ids: [id], grouped: false })),
  ]
}

/** The most statement lines attached to a mail: about three megabytes, which mail servers accept. */
const MOST_ATTACHED = 20_000

/**
 * Adds statements to summaries; only the lines of pools, if there are more than `MOST_ATTACHED` lines. Statements never
 * change, so they are read when the mail is sent, and not stored with the notification.
 */
const withStatements = (tx: TenantTx, notifications: readonly Notification[]): Promise<Notification[]> =>
  Promise.all(
    notifications.map(async (notification) => {
      if (notification.kind !== 'summary') return notification
      const { key } = notification.cycle
      const count = (await statementTotals(tx, key))?.lines ?? 0
      const some = count > MOST_ATTACHED ? { kinds: ['pool' as const] } : {}
      const { lines } = await pageOfLines(tx, key, { ...some, afterLine: 0, limit: MOST_ATTACHED })
      const leftOut = count > MOST_ATTACHED ? { statementLinesLeftOut: count - lines.length } : {}
      return { ...notification, statementCsv: statementCsv(lines), ...leftOut }
    }),
  )

/** A mail as it is sent, or the error that kept it from being written. */
type Written = { readonly mail: Mail } | { readonly error: unknown }

/**
 * Renders a mail. Notifications that cannot be rendered do not hold up others: they are moved to a mail of their own,
 * which is retried like any other.
 */
async function write(
  store: Store,
  render: Mailer['render'],
  tenantId: string,
  { id, recipient }: ClaimedMail,
): Promise<Written> {
  try {
    return await inTenant(store, tenantId, async (tx) => {
      const notifications = await notificationsOf(tx, id)
      const bodies = await withStatements(
        tx,
        notifications.map(({ body }) => body),
      )
      const whole = attempt(render, bodies)
      if ('mail' in whole) return whole
      const faulty = bodies.map((body) => 'error' in attempt(render, [body]))
      const left = bodies.filter((_, n) => faulty[n] === false)
      if (left.length === 0 || left.length === bodies.length) return whole
      const ids = notifications.filter((_, n) => faulty[n] === true).map((notification) => notification.id)
      await insertMail(tx, { recipient, grouped: false }, ids)
      return attempt(render, left)
    })
  } catch (error) {
    if (isAway(error)) throw error
    return { error }
  }
}

function attempt(render: Mailer['render'], notifications: readonly Notification[]): Written {
  try {
    return { mail: render(notifications) }
  } catch (error) {
    return { error }
  }
}

async function send(
  store: Store,
  { render, transport }: Mailer,
  options: MailOptions,
  tenantId: string,
  mail: ClaimedMail,
): Promise<void> {
  const written = await write(store, render, tenantId, mail)
  const failed = (error: unknown, otherwise: string) => ({
    status: statusAfter(error, mail, options),
    response: storable(String(error)),
    why: isMailError(error) ? error.plainWords : otherwise,
  })
  const outcome =
    'error' in written
      ? failed(written.error, 'it could not be written')
      : await transport.send({ to: mail.recipient, messageId: mail.id, ...written.mail }).then(
          ({ response }) => ({ status: 'sent' as const, response: storable(response), why: '' }),
          (error: unknown) => failed(error, 'it could not be sent'),
        )
  const subject = 'error' in written ? '' : storable(written.mail.subject)
  await inTenant(store, tenantId, async (tx) => {
    const pauseMs = backoffMs(mail.attempts, { firstMs: RETRY_MIN_MS, longestMs: options.retryMaxMs })
    await noteDelivery(tx, mail.id, { ...outcome, subject, nextAt: new Date(tx.now.getTime() + pauseMs) })
    if (outcome.status !== 'pending')
      await recordDeliveryEvent(tx, mail, subject || 'notices that cannot be written', outcome)
  })
}

const isMailError = (error: unknown): error is MailError => error instanceof Error && error.name === 'MailError'

function statusAfter(error: unknown, mail: ClaimedMail, options: MailOptions): 'pending' | 'failed' {
  const permanent = isMailError(error) && error.kind === 'permanent'
  return permanent || mail.attempts >= options.attempts ? 'failed' : 'pending'
}

async function recordDeliveryEvent(
  tx: TenantTx,
  mail: ClaimedMail,
  subject: string,
  outcome: { readonly status: 'sent' | 'failed' | 'pending'; readonly why: string },
): Promise<void> {
  const sent = outcome.status === 'sent'
  await insertEvent(tx, {
    type: EventType.Billing,
    severity: sent ? EventSeverity.Info : EventSeverity.Critical,
    title: sent ? `E-mail sent: ${subject}` : `E-mail given up: ${subject}`,
    description: sent
      ? `Sent to ${mail.recipient} as ${mail.id}.`
      : `Not delivered to ${mail.recipient} after ${mail.attempts} attempt(s): ${outcome.why}.`,
  })
}
