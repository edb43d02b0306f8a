/** A tenant of a test's own store, whose mails go to an SMTP inbox of its own. */
import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import { type MailChannel, mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { createTransport } from '../../../adapters/channels/mail/transport.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { tenantsWithMail } from '../../../service/channels/rows/mails.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { type InboxOptions, startInbox } from '../../../stack/inbox/inbox.ts'
import type { InboxMail } from '../../../stack/inbox/mails.ts'
import { insertNotifications, type NewNotice } from '../../../store/notifications.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import type { TestStore } from '../../setup/estate.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { anAlert, aWarning } from '../../unit/channels/notifications.ts'
import { aHarness } from '../harness.ts'

export const RETRIES = { retryMaxMs: 60_000, giveUpAfterMs: 3_600_000 }
export const BILLING = 'billing@meadow.example'
export const SECOND = 1000

/** An SMTP inbox of a test's own, and a transport to it. */
export async function aMailbox(options: Omit<InboxOptions, 'dir'> = {}) {
  const inbox = await startInbox({ dir: await temporaryFolder(), ...options })
  const from = 'Simherd <simherd@meadow.example>'
  const transport = createTransport({ smtpUrl: inbox.smtpUrl, from, timeoutMs: 30_000 })
  onTestFinished(async () => {
    transport.close()
    await inbox.stop()
  })
  return {
    transport,
    inboxUrl: inbox.inboxUrl,
    /** The mails that have arrived, the oldest first. */
    arrived: async (): Promise<InboxMail[]> => {
      const response = await fetch(inbox.inboxUrl, { headers: { accept: 'application/json' } })
      return ((await response.json()) as InboxMail[]).toReversed()
    },
  }
}

/** A tenant with an SMTP inbox of its own. */
export async function aPost(store: TestStore, options: Omit<InboxOptions, 'dir'> = {}, billingCycle = 'P1M') {
  const harness = await aHarness(store, billingCycle)
  const { transport, inboxUrl, arrived } = await aMailbox(options)
  const mailer = mailChannel(transport)
  const hasWork = async () => (await inPlatform(store, (tx) => tenantsWithMail(tx, 1000))).includes(harness.tenantId)
  const send = (by: MailChannel = mailer) => sendMails(store, by, RETRIES, harness.tenantId)
  let number = 0
  const notification = (level: LogLevel = LogLevel.Critical, dueInMs = 0, key = `notice/${number++}`): NewNotice => {
    const { rule, ...alert } = level === LogLevel.Critical ? anAlert({ key }) : aWarning({ key, level })
    // Of a type that is not about usage, so that the subject is the message.
    const body = { ...alert, rule: { ...rule, type: 'test' }, message: key }
    return { body, dueAt: new Date(store.now + dueInMs) }
  }
  const notify = (...notifications: NewNotice[]) => harness.asTenant((tx) => insertNotifications(tx, notifications))
  return {
    ...harness,
    mailer,
    notification,
    notify,
    send,
    /** Sends a critical notification. */
    sendOne: async () => {
      await notify(notification())
      await send()
    },
    /** Lets time pass in sweeps, so many seconds apart. */
    pass: async (seconds: number, apart = 5) => {
      for (const end = store.now + seconds * SECOND; store.now < end; ) {
        store.now = Math.min(end, store.now + apart * SECOND)
        if (await hasWork()) await send()
      }
    },
    arrived,
    statement: async (mail: InboxMail | undefined) =>
      (await fetch(`${inboxUrl.replace(/\/$/, '')}/mails/${mail?.id}/attachments/0`)).text(),
    mails: () =>
      harness.rows(sql<{ id: string; status: string; attempts: number; nextAt: Date; keys: string[] }>`
        select m.mail_id as id, m.status, m.attempts, m.next_attempt_at as "nextAt",
               array(select dedupe_key from notifications n where n.mail_id = m.mail_id order by n.id) as keys
          from deliveries m where m.mail_id is not null order by m.created_at, m.mail_id`),
    events: () =>
      harness.rows(sql<{ title: string; description: string; severity: number }>`
      select title, description, severity from events where type = 1 order by id`),
    hasWork,
  }
}

export type Post = Awaited<ReturnType<typeof aPost>>

export const messageId = (mail: InboxMail) => mail.headers['message-id']
