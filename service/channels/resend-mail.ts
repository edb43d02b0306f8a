import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { copyBody } from './rows/bodies.ts'
import { insertResent, mailStatus, tryAgain } from './rows/mails.ts'

/**
 * Sends the same mail again, as a new mail with a new Message-ID, to the tenant's present billing address.
 *
 * @returns the new mail's Message-ID
 * @throws ServiceError `mail_not_found`; `mail_pending` while it is still tried; `mail_text_gone` if its text is no
 *   longer kept
 */
export async function resendMail(tx: TenantTx, id: string): Promise<{ id: string }> {
  const status = await mailStatus(tx, id)
  if (status === undefined) throw new ServiceError('mail_not_found', `There is no mail ${id}.`)
  if (status === 'pending')
    throw new ServiceError('mail_pending', `Mail ${id} has not been sent yet: it is still tried.`)
  const newId = await insertResent(tx, id)
  if (!(await copyBody(tx, id, newId))) {
    throw new ServiceError('mail_text_gone', `What mail ${id} said is not stored.`)
  }
  await noteChange(tx, { subject: 'mail', id: newId, before: null, after: { resends: id } })
  return { id: newId }
}

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
