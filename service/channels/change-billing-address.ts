import type { TenantTx } from '../../store/tenancy.ts'
import { changeTenant } from '../tenants/change-tenant.ts'
import { changeBilling } from './rows/addresses.ts'
import { tryAgain } from './rows/mails.ts'

const REFUSED_KEPT_MS = 30 * 86_400_000

/**
 * Changes the tenant's billing e-mail. Later mails go to the new address. So do mails of the last month given up
 * because the previous address was refused. The previous one is kept as an address until the new one is confirmed.
 *
 * @throws ServiceError `tenant_not_found`
 */
export async function changeBillingAddress(tx: TenantTx, billingEmail: string): Promise<{ readonly id: string }> {
  const { id, billingEmail: before } = await changeTenant(tx, 'billingEmail', billingEmail)
  if (before !== billingEmail) {
    await changeBilling(tx, before, billingEmail)
    await tryAgain(tx, { refusedSince: new Date(tx.now.getTime() - REFUSED_KEPT_MS) })
  }
  return { id }
}
