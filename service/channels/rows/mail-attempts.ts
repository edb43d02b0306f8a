/** Attempts at mails, and the answers of the server. */
import { sql } from 'kysely'
import type { MailAttempt } from '../../../domain/channels/mail.ts'
import { quote } from '../../../domain/quote.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import type { Result } from '../deliver.ts'
import { ended } from './deliveries.ts'

/** Attempts that are kept of a mail, the newest: while the server takes nothing from us, a mail is tried for months. */
const MOST_KEPT = 50
/** Bytes of an answer. */
const MOST_RESPONSE = 500

/**
 * Records an attempt at a mail and its outcome, unless the mail has ended already.
 *
 * @returns the subject of the mail; empty if it was not rendered; undefined if it had ended
 */
export async function noteMailAttempt(tx: TenantTx, id: number, result: Result): Promise<string | undefined> {
  const { outcome, status, nextAt } = result
  const response = quote(result.response, MOST_RESPONSE)
  const { rows } = await sql<{ subject: string }>`
    with noted as (${ended(tx, id, { ...result, response })}), dropped as (
      delete from mail_attempts where id in (
        select a.id from noted cross join lateral (
          select id from mail_attempts where mail_id = noted.mail_id order by id desc offset ${MOST_KEPT - 1}) a)
    ), kept as (
      insert into mail_attempts (mail_id, at, outcome, response, next_attempt_at)
      select mail_id, ${tx.now}, ${outcome}, ${response}, ${status === 'pending' ? nextAt : null}::timestamptz from noted
    )
    select subject from noted`.execute(tx.q)
  return rows[0]?.subject
}

/** The attempts at a mail, the oldest first. */
export async function attemptsOf(tx: TenantTx, mailId: string): Promise<MailAttempt[]> {
  const { rows } = await sql<Pick<MailAttempt, 'outcome' | 'response'> & { at: Date; nextAttemptAt: Date | null }>`
    select at, outcome, response, next_attempt_at as "nextAttemptAt" from mail_attempts
     where mail_id = ${mailId} order by id`.execute(tx.q)
  return rows.map(({ at, nextAttemptAt, ...attempt }) => ({
    at: at.toISOString(),
    ...attempt,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  }))
}
