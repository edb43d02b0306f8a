/**
 * Mails notices to the operator of the installation.
 *
 *   notices → mail (notices, Message-ID and text fixed, committed) → SMTP → sent (committed)
 *
 * The first notice leaves at once, the next ones together, a quarter of an hour after it. A mail is sent at least once,
 * like those of tenants.
 */
import { randomUUID } from 'node:crypto'
import type { Mail } from '../../adapters/channels/mail/render.ts'
import type { Transport } from '../../adapters/channels/mail/transport.ts'
import type { CountedNotice } from '../../domain/notifications/operator-notice.ts'
import { storable } from '../../domain/text.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { failureOf, outcomeOf } from './outcome.ts'
import { LEASE_MS, type MailRetries } from './retry.ts'
import {
  type ClaimedOperatorMail,
  claimOperatorMail,
  insertOperatorMail,
  latestOperatorMail,
  lockOperatorMails,
  noteOperatorDelivery,
  waitingOperatorNotices,
} from './rows/operator-mails.ts'

export interface OperatorMailer {
  readonly render: (notices: readonly CountedNotice[]) => Mail
  readonly transport: Pick<Transport, 'send'>
}

export interface OperatorMailOptions extends MailRetries {
  /** A single address: the present one, also for a mail composed before. */
  readonly recipient: string
  /** Called when a mail was given up. */
  readonly onGivenUp?: (given: { readonly mailId: string; readonly response: string }) => void
}

/** Least time between two mails. */
const APART_MS = 15 * 60_000
/** Older notices are not mailed: the operator had no address then. */
const TOLD_WITHIN_MS = 3 * 86_400_000
/** The most notices in one mail, which only counts most of them. The others go into the next. */
const MOST_IN_ONE = 1000

/** Composes a mail if notices are due, and sends a due mail. Safe to run anywhere, at any time. */
export async function tellOperator(store: Store, mailer: OperatorMailer, options: OperatorMailOptions): Promise<void> {
  const mail = await inPlatform(store, async (tx) => {
    if (!(await lockOperatorMails(tx))) return undefined
    await compose(tx, mailer.render)
    return claimOperatorMail(tx, new Date(tx.now.getTime() + LEASE_MS))
  })
  if (mail !== undefined) await send(store, mailer.transport, options, mail)
}

async function compose(tx: PlatformTx, render: OperatorMailer['render']): Promise<void> {
  const now = tx.now.getTime()
  const latest = await latestOperatorMail(tx)
  // While a mail cannot be sent, notices gather for the next one.
  if (latest !== undefined && (latest.isPending || now - latest.at.getTime() < APART_MS)) return
  const notices = await waitingOperatorNotices(tx, new Date(now - TOLD_WITHIN_MS), MOST_IN_ONE)
  if (notices.length === 0) return
  await insertOperatorMail(
    tx,
    { id: `<${randomUUID()}@simherd>`, ...render(notices) },
    notices.map(({ id }) => id),
  )
}

async function send(
  store: Store,
  transport: OperatorMailer['transport'],
  { recipient, onGivenUp, ...retries }: OperatorMailOptions,
  mail: ClaimedOperatorMail,
): Promise<void> {
  const { id, subject, text, html } = mail
  const result = await transport
    .send({ to: recipient, messageId: id, subject, text, html, headers: {} })
    .then(({ response }) => ({ trouble: null, response: storable(response) }), failureOf)
  const isGivenUp = await inPlatform(store, async (tx) => {
    const outcome = outcomeOf(result.trouble, mail, tx.now.getTime(), retries)
    await noteOperatorDelivery(tx, id, { ...outcome, response: result.response })
    return outcome.status === 'failed'
  })
  if (isGivenUp) onGivenUp?.({ mailId: id, response: result.response })
}
