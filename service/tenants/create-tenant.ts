import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { isCurrency } from '../../domain/tenants/currency.ts'
import type { NewTenant, TenantEntry, WithSecret } from '../../domain/tenants/tenant.ts'
import { parseBillingCycle } from '../../domain/time/cycle.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { createKey } from './create-key.ts'
import { insertTenant } from './rows/tenants.ts'

/**
 * Creates a tenant and its first key, with all scopes within the tenant.
 *
 * @param defaults used if the request names no billing cycle or currency
 * @returns id of the tenant, and the key with its secret
 * @throws ServiceError `invalid_request` if the billing cycle or the currency is not valid
 */
export async function createTenant(
  tx: PlatformTx,
  tenant: NewTenant,
  defaults: Pick<TenantEntry, 'billingCycle' | 'currency'>,
): Promise<WithSecret> {
  const billingCycle = tenant.billingCycle ?? defaults.billingCycle
  const currency = tenant.currency ?? defaults.currency
  if (parseBillingCycle(billingCycle) === undefined) {
    const detail = 'must be P1M, or whole days, hours or minutes like P7D, PT6H, PT5M'
    throw new ServiceError('invalid_request', `billingCycle: ${billingCycle} ${detail}`, {
      errors: [{ pointer: '/billingCycle', detail }],
    })
  }
  if (!isCurrency(currency)) {
    const detail = 'must be a code of ISO 4217, such as EUR or USD'
    throw new ServiceError('invalid_request', `currency: ${currency} ${detail}`, {
      errors: [{ pointer: '/currency', detail }],
    })
  }
  const id = `t${randomBytes(6).toString('hex')}`
  await insertTenant(tx, { id, name: tenant.name, billingEmail: tenant.billingEmail, billingCycle, currency })
  const { name, billingEmail } = tenant
  await noteChange(tx, {
    subject: 'tenant',
    id,
    tenantId: id,
    before: null,
    after: { name, billingEmail, billingCycle, currency },
  })
  const { key } = await createKey(tx, id, { name: 'first key', scopes: ['read', 'write', 'admin'] })
  return { id, key }
}
