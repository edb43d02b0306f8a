/**
 * Mails notices to the operator of the installation.
 *
 *   notices → mail (notices, Message-ID and text fixed, committed) → SMTP → sent (committed)
 *
 * The first notice leaves at once, the next ones together, a quarter of an hour after it. A mail is sent at least once,
 * like those of tenants.
 */
import { randomUUID } from 'node:crypto'
import type { Mail } from '../../adapters/channels/mail/render-mail.ts'
import type { Channel } from '../../domain/channels/channel.ts'
import { type MailRetries, mailRetries } from '../../domain/channels/retry.ts'
import type { CountedNotice } from '../../domain/notifications/operator-notice.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { deliver, type Outbox } from './deliver.ts'
import {
  type ClaimedOperatorMail,
  claimOperatorMail,
  insertOperatorMail,
  latestOperatorMail,
  lockOperatorMails,
  noteOperatorDelivery,
  waitingOperatorNotices,
} from './rows/operator-mails.ts'

/** Sends notices to an address. */
export type OperatorChannel = Channel<CountedNotice, string, Mail>

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
/** A turn that ends with its first mail. */
const ONE_MAIL = 0
/** The most notices in one mail, which only counts most of them. The others go into the next. */
const MOST_IN_ONE = 1000

/** Composes a mail if notices are due, and sends a due mail. Safe to run anywhere, at any time. */
export async function tellOperator(
  store: Store,
  { render, send }: OperatorChannel,
  { recipient, onGivenUp, ...retries }: OperatorMailOptions,
): Promise<void> {
  const outbox: Outbox<PlatformTx, ClaimedOperatorMail> = {
    within: (work) => inPlatform(store, work),
    retries: mailRetries(retries),
    claim: async (tx, leaseUntil) => {
      if (!(await lockOperatorMails(tx))) return []
      await compose(tx, render)
      return claimOperatorMail(tx, leaseUntil)
    },
    send: ({ id, subject, text, html }) => send({ subject, text, html, headers: {} }, recipient, id),
    settle: async (tx, { id }, result) => {
      await noteOperatorDelivery(tx, id, result)
      return result.status === 'failed' ? () => onGivenUp?.({ mailId: id, response: result.response }) : undefined
    },
  }
  await deliver(store, outbox, ONE_MAIL)
}

async function compose(tx: PlatformTx, render: OperatorChannel['render']): Promise<void> {
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
