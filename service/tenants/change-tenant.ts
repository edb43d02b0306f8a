import { EventSeverity, EventType } from '../../domain/codes.ts'
import type { Tenant } from '../../domain/tenants/tenant.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockTenant, writeTenant } from './rows/tenants.ts'

const WORDS = { name: 'name', billingEmail: 'billing e-mail' } as const

/**
 * Changes the tenant's name or billing e-mail, and records an event.
 *
 * @returns the tenant as it was
 * @throws ServiceError `tenant_not_found`
 */
export async function changeTenant<Field extends keyof typeof WORDS>(
  tx: TenantTx,
  field: Field,
  value: Tenant[Field],
): Promise<Tenant> {
  const was = await lockTenant(tx)
  if (was[field] === value) return was
  await writeTenant(tx, { ...was, [field]: value })
  await noteChange(tx, {
    subject: 'tenant',
    id: was.id,
    before: { [field]: was[field] },
    after: { [field]: value },
  })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Tenant changed: ${WORDS[field]}`,
    description: `The ${WORDS[field]} is ${value} now; before: ${was[field]}.`,
  })
  return was
}
