import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { mailStatus, tryAgain } from './rows/mails.ts'

/**
 * Retries a given-up mail, at the tenant's present billing address.
 *
 * @throws ServiceError `mail_not_found`; `mail_not_failed` if it was sent, or still is tried
 */
export async function retryMail(tx: TenantTx, id: string): Promise<{ id: string }> {
  if ((await tryAgain(tx, { id })) === 0) {
    const status = await mailStatus(tx, id)
    if (status === undefined) throw new ServiceError('mail_not_found', `There is no mail ${id}.`)
    throw new ServiceError('mail_not_failed', `Mail ${id} is ${status}.`)
  }
  await noteChange(tx, { subject: 'mail', id, before: { status: 'failed' }, after: { status: 'pending' } })
  return { id }
}
