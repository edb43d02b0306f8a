import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import type { NewTenant, WithSecret } from '../../domain/tenants/tenant.ts'
import { parseBillingCycle } from '../../domain/time/cycle.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { createKey } from './create-key.ts'
import { insertTenant } from './rows/tenants.ts'

/**
 * Creates a tenant and its first key, with all scopes within the tenant.
 *
 * @param defaultBillingCycle used if the request names no billing cycle
 * @returns id of the tenant, and the key with its secret
 * @throws ServiceError `invalid_request` if the billing cycle is not valid
 */
export async function createTenant(
  tx: PlatformTx,
  tenant: NewTenant,
  defaultBillingCycle: string,
): Promise<WithSecret> {
  const billingCycle = tenant.billingCycle ?? defaultBillingCycle
  if (parseBillingCycle(billingCycle) === undefined) {
    const detail = 'must be P1M, or whole days, hours or minutes like P7D, PT6H, PT5M'
    throw new ServiceError('invalid_request', `billingCycle: ${billingCycle} ${detail}`, {
      errors: [{ pointer: '/billingCycle', detail }],
    })
  }
  const id = `t${randomBytes(6).toString('hex')}`
  await insertTenant(tx, { id, name: tenant.name, billingEmail: tenant.billingEmail, billingCycle })
  const { name, billingEmail } = tenant
  await noteChange(tx, {
    subject: 'tenant',
    id,
    tenantId: id,
    before: null,
    after: { name, billingEmail, billingCycle },
  })
  const { key } = await createKey(tx, id, { name: 'first key', scopes: ['read', 'write', 'admin'] })
  return { id, key }
}
