import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import { lockSimRecord, setTag } from '../../store/estate/sim-changes.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/**
 * Sets the tag of a SIM; an empty tag removes it.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function tagSim(tx: TenantTx, { id, tag }: { id: number; tag: string }): Promise<{ id: number }> {
  const sim = await lockSimRecord(tx, id)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${id}.`)
  if (sim.tag === tag) return { id }
  await setTag(tx, id, tag)
  await noteChange(tx, { subject: 'sim', id, before: { tag: sim.tag }, after: { tag } })
  return { id }
}
