import { insertOperatorNotices } from '../../store/operator-notices.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { Result } from './deliver.ts'

/**
 * Notes for the operator that a mail was given up. Mails given up for a refused address are one notice a day for the
 * address.
 */
export async function noteGivenUp(
  tx: TenantTx,
  mail: { readonly mailId: string; readonly recipient: string; readonly subject: string },
  { outcome, response }: Result,
): Promise<void> {
  const { mailId, recipient, subject } = mail
  const now = tx.now.toISOString()
  await insertOperatorNotices(tx, [
    outcome === 'gone'
      ? { key: `address/${recipient}/${now.slice(0, 10)}`, body: { kind: 'addressRefused', recipient, response } }
      : // A retried mail may be given up again.
        { key: `mail/${mailId}/${now}`, body: { kind: 'mailGivenUp', mailId, recipient, subject, response } },
  ])
}
