import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { CURRENCY_FORM, isCurrency } from '../../domain/tenants/currency.ts'
import type { NewTenant, TenantEntry, WithSecret } from '../../domain/tenants/tenant.ts'
import { parseBillingCycle } from '../../domain/time/cycle.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { createKey } from './create-key.ts'
import { insertTenant } from './rows/tenants.ts'

const CYCLE_FORM = 'must be P1M, or whole days, hours or minutes like P7D, PT6H, PT5M'

const wrong = (field: string, got: string, detail: string): ServiceError =>
  new ServiceError('invalid_request', `${field}: ${got} ${detail}`, { errors: [{ pointer: `/${field}`, detail }] })

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
  if (parseBillingCycle(billingCycle) === undefined) throw wrong('billingCycle', billingCycle, CYCLE_FORM)
  if (!isCurrency(currency)) throw wrong('currency', currency, CURRENCY_FORM)
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
