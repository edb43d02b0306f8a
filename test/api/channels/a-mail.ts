/** Mails as rows, without a mail server. */
import { sql } from 'kysely'
import type { Outcome } from '../../../domain/channels/channel.ts'
import { insertBody } from '../../../service/channels/rows/bodies.ts'
import { noteMailAttempt } from '../../../service/channels/rows/mail-attempts.ts'
import { insertMail } from '../../../service/channels/rows/mails.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import type { Harness, Tenant } from '../harness.ts'

interface NewMail {
  readonly subject?: string
  readonly text?: string
  readonly recipient?: string
  /** What came of each attempt; all but the last are tried again. Default: it was accepted. */
  readonly attempts?: readonly (readonly [Outcome, string])[]
  /** Key of its notice, and what that is about. */
  readonly key?: string
  readonly about?: { readonly kind: 'sim' | 'pool'; readonly id: number; readonly label: string }
}

const ENDS: Readonly<Partial<Record<Outcome, 'sent' | 'failed'>>> = {
  delivered: 'sent',
  refused: 'failed',
  gone: 'failed',
}

let serial = 0

/** Writes a mail of one notice. @returns its Message-ID */
export const writeMail = (
  { store }: Pick<Harness, 'store'>,
  tenant: Pick<Tenant, 'id'>,
  { subject = 'Over', text = 'It is over.', recipient = 'billing@example.com', ...more }: NewMail = {},
): Promise<string> =>
  inTenant(store, tenant.id, async (tx) => {
    const { attempts = [['delivered', '250 OK']], key = `mail ${++serial}`, about } = more
    await insertNotifications(tx, [{ body: anAlert({ key, ...(about && { subject: about }) }), dueAt: tx.now }])
    const { rows: notices } = await sql<{ id: number }>`select id from notifications where dedupe_key = ${key}`.execute(
      tx.q,
    )
    const mailId = await insertMail(
      tx,
      { recipient, kind: 'cause' },
      notices.map(({ id }) => id),
    )
    const attachments = [{ filename: 'notices.csv', contentType: 'text/csv', content: 'a' }]
    await insertBody(tx, mailId, { subject, text, html: '<p onclick="alert()">HTML</p>', headers: {}, attachments })
    const { rows } = await sql<{ id: number }>`
      update deliveries set attempts = ${attempts.length} where mail_id = ${mailId} returning id`.execute(tx.q)
    for (const [n, [outcome, response]] of attempts.entries()) {
      const status = n < attempts.length - 1 ? 'pending' : (ENDS[outcome] ?? 'pending')
      const step = { status, nextAt: new Date(tx.now.getTime() + 60_000), triedSince: null, refusedAt: null } as const
      await noteMailAttempt(tx, rows[0]?.id ?? 0, { ...step, outcome, response, code: null, why: '', askedMs: 0 })
    }
    return mailId
  })
