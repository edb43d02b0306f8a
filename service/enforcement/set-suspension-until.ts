import type { SuspensionChange } from '../../domain/enforcement/enforcement.ts'
import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockSimRecord } from '../sims/rows/sim-changes.ts'
import { writeSuspensionUntil as write } from '../sims/rows/suspensions.ts'
import { holdCycles, settleAhead } from '../usage/rows/contributions.ts'

/**
 * Changes how long the watchdog's suspension of a SIM lasts. Safe to run twice.
 *
 * @throws ServiceError `sim_not_found`; `sim_state_conflict` if the SIM is not suspended by that workflow (any more)
 */
export async function setSuspensionUntil(
  tx: TenantTx,
  { id, ...change }: SuspensionChange & { readonly id: number },
): Promise<{ id: number }> {
  await lockSimRecord(tx, id)
  const cycles = await holdCycles(tx, tx.now)
  const before = await write(tx, id, change)
  if (before === undefined)
    throw new ServiceError('sim_state_conflict', `SIM ${id} is not suspended by workflow ${change.workflowId}.`)
  const { until } = change
  if (until !== before) {
    await settleAhead(tx, cycles, [id])
    await noteChange(tx, { subject: 'sim', id, before: { suspendedUntil: before }, after: { suspendedUntil: until } })
  }
  return { id }
}
