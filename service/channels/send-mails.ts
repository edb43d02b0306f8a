/**
 * Sends a tenant's mails: composes those that leave now, then sends each as stored.
 *
 *   notifications → mail (rows, Message-ID and text fixed, committed) → SMTP → sent (committed)
 *
 * A mail is sent at least once, in practice once. If the sender dies between the SMTP response and the commit, the mail
 * goes out again under the same Message-ID.
 */

import type { Mail } from '../../adapters/channels/mail/render.ts'
import type { Transport } from '../../adapters/channels/mail/transport.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { storable } from '../../domain/text.ts'
import { isAway } from '../../store/away.ts'
import { insertEvent } from '../../store/events.ts'
import { notificationsOf } from '../../store/notifications.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { insertWebhookEvent } from '../../store/webhook-events.ts'
import { composeMails } from './compose-mails.ts'
import { noteGivenUp } from './note-given-up.ts'
import { failureOf, outcomeOf } from './outcome.ts'
import { attachmentsOf, type Render, type Rendered, renderBody } from './render-body.ts'
import { LEASE_MS, type MailRetries } from './retry.ts'
import { markBad, markWell } from './rows/addresses.ts'
import { findBody, insertBody } from './rows/bodies.ts'
import { type ClaimedMail, claimMail, insertMail, noteDelivery, putOffMails, settleMailWork } from './rows/mails.ts'
import { type NoticeWait, noticeWaits } from './rows/notice-waits.ts'

/** How mails are rendered and sent. */
export interface Mailer {
  readonly render: Render
  readonly transport: Pick<Transport, 'send'>
}

/** How mails are tried. */
export interface MailOptions extends MailRetries {
  /** Called when no mail can be sent for a reason that the operator has to mend. */
  readonly onTrouble?: (error: Error) => void
  /** Called after a mail was accepted, with how long each of its notices waited. */
  readonly onAccepted?: (waits: readonly NoticeWait[]) => void
}

/** Composes mails of due notifications, and sends mails until none is due. */
export async function sendMails(store: Store, mailer: Mailer, options: MailOptions, tenantId: string): Promise<void> {
  await inTenant(store, tenantId, (tx) => composeMails(tx, mailer.render))
  for (;;) {
    const mail = await inTenant(store, tenantId, (tx) => claimMail(tx, new Date(tx.now.getTime() + LEASE_MS)))
    if (mail === undefined || !(await send(store, mailer, options, tenantId, mail))) break
  }
  await inTenant(store, tenantId, settleMailWork)
}

/** A mail ready to send, or the error that prevented it. */
type Written = { readonly mail: Mail } | { readonly error: unknown }

/** Reads a rendered mail. */
async function read(store: Store, render: Render, tenantId: string, mail: ClaimedMail): Promise<Written> {
  try {
    return await inTenant(store, tenantId, async (tx) => {
      const rendered = await renderedOf(tx, render, mail)
      if ('error' in rendered) return rendered
      return { mail: { ...rendered.body, attachments: await attachmentsOf(tx, rendered.body) } }
    })
  } catch (error) {
    if (isAway(error)) throw error
    return { error }
  }
}

/** The stored text of a mail. A mail that could not be rendered when composed is rendered and stored now. */
async function renderedOf(tx: TenantTx, render: Render, { id, recipient }: ClaimedMail): Promise<Rendered> {
  const stored = await findBody(tx, id)
  if (stored !== undefined) return { body: stored }
  const notifications = await notificationsOf(tx, id)
  const { rendered, faulty } = await renderBody(
    tx,
    render,
    notifications.map(({ body }) => body),
  )
  if ('body' in rendered) await insertBody(tx, id, rendered.body)
  const left = notifications.flatMap((one, n) => (faulty[n] === true ? [one.id] : []))
  if (left.length > 0) await insertMail(tx, { recipient, kind: 'joined' }, left)
  return rendered
}

/** Sends a mail. @returns whether others may be sent now: not if the trouble is ours */
async function send(
  store: Store,
  { render, transport }: Mailer,
  options: MailOptions,
  tenantId: string,
  mail: ClaimedMail,
): Promise<boolean> {
  const written = await read(store, render, tenantId, mail)
  const failed = (error: unknown, otherwise: string) => {
    const failure = failureOf(error)
    return { ...failure, why: failure.why ?? otherwise, error }
  }
  const result =
    'error' in written
      ? failed(written.error, 'it could not be written')
      : await transport.send({ to: mail.recipient, messageId: mail.id, ...written.mail }).then(
          ({ response }) => ({ trouble: null, response: storable(response), why: '', error: null }),
          (error: unknown) => failed(error, 'it could not be sent'),
        )
  const { trouble, response, why, error } = result
  const subject = 'error' in written ? 'notices that cannot be written' : written.mail.subject
  const waits = await inTenant(store, tenantId, async (tx) => {
    const outcome = outcomeOf(trouble, mail, tx.now.getTime(), options)
    await noteDelivery(tx, mail.id, { ...outcome, response })
    if (trouble === 'ours') await putOffMails(tx, outcome.nextAt)
    if (outcome.status === 'pending') return []
    await recordDeliveryEvent(tx, mail, subject, { status: outcome.status, why })
    if (outcome.status === 'sent') {
      await markWell(tx, mail.recipient)
      return noticeWaits(tx, mail.id)
    }
    await noteGivenUp(tx, { ...mail, subject }, { trouble, response })
    if (trouble === 'address') await markBad(tx, mail.recipient)
    return []
  })
  if (waits.length > 0) options.onAccepted?.(waits)
  if (trouble === 'ours' && error instanceof Error) options.onTrouble?.(error)
  return trouble !== 'ours'
}

async function recordDeliveryEvent(
  tx: TenantTx,
  mail: ClaimedMail,
  subject: string,
  outcome: { readonly status: 'sent' | 'failed'; readonly why: string },
): Promise<void> {
  const sent = outcome.status === 'sent'
  if (!sent) {
    const data = { mailId: mail.id, recipient: mail.recipient, subject, why: outcome.why }
    await insertWebhookEvent(tx, { type: 'mail.failed', data })
  }
  await insertEvent(tx, {
    type: EventType.Billing,
    severity: sent ? EventSeverity.Info : EventSeverity.Critical,
    title: sent ? `E-mail sent: ${subject}` : `E-mail given up: ${subject}`,
    description: sent
      ? `Sent to ${mail.recipient} as ${mail.id}.`
      : `Not delivered to ${mail.recipient} after ${mail.attempts} attempt(s): ${outcome.why}.`,
  })
}
