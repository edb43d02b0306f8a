import { ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import { noteChange } from '../../store/audit.ts'
import { markDue } from '../../store/due.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockPool, poolUses, removePool } from './rows/pools.ts'

/**
 * Deletes a pool, unless a SIM is in it, is queued to move into it, or has an open ticket into it. The ledger,
 * statements and logs keep its id and name. Its alerts end with the next evaluation.
 *
 * @throws ServiceError `pool_not_found`, `pool_in_use`
 */
export async function deletePool(tx: TenantTx, id: number): Promise<void> {
  const pool = await lockPool(tx, id)
  const { sims, queued, tickets } = await poolUses(tx, id)
  const uses = [
    ...(sims === 0 ? [] : [`${counted(sims, 'SIM')} in it`]),
    ...(queued === 0 ? [] : [`${counted(queued, 'SIM')} queued to move into it`]),
    ...(tickets === 0 ? [] : [`${counted(tickets, 'open ticket')} into it`]),
  ]
  if (uses.length > 0) throw new ServiceError('pool_in_use', `Pool ${id} (${pool.name}) has ${uses.join(', ')}.`)
  await removePool(tx, id)
  await markDue(tx, [{ kind: 'pool', id }])
  const { name, type, tariffId, watchdogMode } = pool
  await noteChange(tx, { subject: 'pool', id, before: { name, type, tariffId, watchdogMode }, after: null })
}
