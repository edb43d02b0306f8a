/**
 * Lets time pass for what waits, by moving its instants in the test's own database: half a minute for the next of a cause,
 * a lease of five minutes, an hour before an address is tried again, three days before a mail is given up. The processes'
 * clocks go on as they are, and no setting exists for tests only.
 */
import type { Rows } from '../witnesses.ts'

/** Longer than a cause waits for more of it, and than causes wait that share a mail. */
const WAITS = "interval '2 minutes'"

/** As if what waits for a mail had waited for two minutes. Mails are left alone. */
export async function passWaits(rows: Rows): Promise<void> {
  await rows(
    `update notifications set due_at = due_at - ${WAITS}, created_at = created_at - ${WAITS} where mail_id is null`,
  )
  await rows(`update mail_work set due_at = due_at - ${WAITS}`)
}

/** As if the leases of evaluations had ended that were claimed before an instant. Evaluating twice changes nothing. */
export async function passEvaluationLeases(rows: Rows, claimedBefore: Date): Promise<void> {
  await rows(`update changed_subjects set claimed_until = now() where claimed_until - interval '1 minute' <= $1`, [
    claimedBefore,
  ])
}

/**
 * As if the leases of mails had ended that were claimed before an instant. Only for an instant at which every worker was
 * dead: a mail that is still being sent would be sent twice.
 */
export async function passMailLeases(rows: Rows, workerKilledAt: Date): Promise<void> {
  // A claim is five minutes long; the other pauses of this test are two seconds, or an hour.
  await rows(
    `update deliveries set next_attempt_at = now()
      where mail_id is not null and status = 'pending'
        and next_attempt_at > now() + interval '1 minute' and next_attempt_at - interval '5 minutes' <= $1`,
    [workerKilledAt],
  )
  await makeDue(rows)
}

/** As if an hour had passed for mails whose address was refused once. None of them is being sent: they wait. */
export async function passAddressHour(rows: Rows): Promise<void> {
  await rows(`
    update deliveries
       set refused_at = refused_at - interval '1 hour', next_attempt_at = next_attempt_at - interval '1 hour'
     where mail_id is not null and status = 'pending' and refused_at is not null
       and next_attempt_at > now() + interval '10 minutes'`)
  await makeDue(rows)
}

/** As if three days had passed for mails that the server may take later. */
export async function passThreeDays(rows: Rows, tenantIds: readonly string[]): Promise<void> {
  await rows(
    `update deliveries set tried_since = tried_since - interval '3 days'
      where mail_id is not null and status = 'pending' and tried_since > now() - interval '1 day' and tenant_id = any($1)`,
    [tenantIds],
  )
}

/** The work list follows from what waits; a sweep then finds it. */
const makeDue = (rows: Rows) =>
  rows(`
    update mail_work w set due_at = least(w.due_at, m.at)
      from (select tenant_id, min(next_attempt_at) as at from deliveries
             where mail_id is not null and status = 'pending' group by tenant_id) m
     where m.tenant_id = w.tenant_id`)
