/**
 * Sends a tenant's mails: composes those that leave now, then sends each as stored.
 *
 *   notifications → mail (rows, Message-ID and text fixed, committed) → SMTP → sent (committed)
 */

import type { MailChannel } from '../../adapters/channels/mail/mail-channel.ts'
import type { Attempt } from '../../domain/channels/channel.ts'
import { type MailRetries, mailRetries } from '../../domain/channels/retry.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { counted } from '../../domain/quantity.ts'
import { isAway } from '../../store/away.ts'
import { insertEvent } from '../../store/events.ts'
import { insertNotifications, notificationsOf } from '../../store/notifications.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { composeMails } from './compose-mails.ts'
import { deliver, type Result } from './deliver.ts'
import { attachmentsOf, idsOf, type Render, type Rendering, renderBody } from './render-body.ts'
import { markBad, markWell } from './rows/addresses.ts'
import { findBody, insertBody } from './rows/bodies.ts'
import { type ClaimedMail, claimMail } from './rows/deliveries.ts'
import { noteMailAttempt } from './rows/mail-attempts.ts'
import { insertMail, type NoticeWait, noticeWaits, putOffMails, settleMailWork } from './rows/mails.ts'

/** How mails are tried. */
export interface MailOptions extends MailRetries {
  /** Called when no mail can be sent for a reason that the operator has to mend. */
  readonly onTrouble?: (response: string) => void
  /** Called after a mail was accepted, with how long each of its notices waited. */
  readonly onAccepted?: (waits: readonly NoticeWait[]) => void
}

/** Composes mails of due notifications, and sends mails until none is due. */
export async function sendMails(
  store: Store,
  channel: MailChannel,
  options: MailOptions,
  tenantId: string,
): Promise<void> {
  await inTenant(store, tenantId, (tx) => composeMails(tx, channel.render))
  await deliver(store, {
    within: (work) => inTenant(store, tenantId, work),
    retries: mailRetries(options),
    claim: claimMail,
    send: (mail) => send(store, channel, tenantId, mail),
    settle: (tx, mail, result) => settle(tx, options, mail, result),
  })
  await inTenant(store, tenantId, settleMailWork)
}

/** Sends a mail as it was rendered. */
async function send(store: Store, channel: MailChannel, tenantId: string, mail: ClaimedMail): Promise<Attempt> {
  const written = await inTenant(store, tenantId, async (tx) => {
    const rendered = await renderedOf(tx, channel.render, mail)
    if ('error' in rendered) return rendered
    return { mail: { ...rendered.body, attachments: await attachmentsOf(tx, rendered.body) } }
  }).catch((error: unknown) => {
    if (isAway(error)) throw error
    return { error }
  })
  if ('mail' in written) return channel.send(written.mail, mail.recipient, mail.mailId)
  return { outcome: 'later', code: null, response: String(written.error), why: 'it could not be written' }
}

/** The stored text of a mail. A mail that could not be rendered when composed is rendered and stored now. */
async function renderedOf(tx: TenantTx, render: Render, { mailId, recipient }: ClaimedMail): Promise<Rendering> {
  const stored = await findBody(tx, mailId)
  if (stored !== undefined) return { body: stored }
  const { rendered, faulty } = await renderBody(tx, render, await notificationsOf(tx, mailId))
  if ('body' in rendered) await insertBody(tx, mailId, rendered.body)
  if (faulty.length > 0) await insertMail(tx, { recipient, kind: 'joined' }, idsOf(faulty))
  return rendered
}

async function settle(
  tx: TenantTx,
  { onAccepted, onTrouble }: MailOptions,
  mail: ClaimedMail,
  result: Result,
): Promise<(() => void) | undefined> {
  const { outcome, status, response } = result
  const noted = await noteMailAttempt(tx, mail.id, result)
  if (outcome === 'ours') {
    await putOffMails(tx, result.nextAt)
    return () => onTrouble?.(response)
  }
  if (noted === undefined || status === 'pending') return undefined
  const subject = noted || 'notices that cannot be written'
  const { mailId, recipient } = mail
  if (status === 'failed') {
    await noteGivenUp(tx, mail, subject, result)
    return undefined
  }
  await insertEvent(tx, {
    type: EventType.Billing,
    severity: EventSeverity.Info,
    title: `E-mail sent: ${subject}`,
    description: `Sent to ${recipient} as ${mailId}.`,
  })
  await markWell(tx, recipient)
  const waits = await noticeWaits(tx, mailId)
  return () => onAccepted?.(waits)
}

/**
 * Notes for the tenant and the operator that a mail was given up. Mails given up for a refused address are one notice a
 * day for the address.
 */
async function noteGivenUp(
  tx: TenantTx,
  { mailId, recipient, attempts }: ClaimedMail,
  subject: string,
  { outcome, why, response }: Result,
): Promise<void> {
  await insertNotifications(tx, [{ type: 'mail.failed', data: { mailId, recipient, subject, why } }])
  await insertEvent(tx, {
    type: EventType.Billing,
    severity: EventSeverity.Critical,
    title: `E-mail given up: ${subject}`,
    description: `Not delivered to ${recipient} after ${counted(attempts, 'attempt')}: ${why}.`,
  })
  const now = tx.now.toISOString()
  await insertOperatorNotices(tx, [
    outcome === 'gone'
      ? { key: `address/${recipient}/${now.slice(0, 10)}`, body: { kind: 'addressRefused', recipient, response } }
      : // A retried mail may be given up again.
        { key: `mail/${mailId}/${now}`, body: { kind: 'mailGivenUp', mailId, recipient, subject, response } },
  ])
  if (outcome === 'gone') await markBad(tx, recipient)
}
