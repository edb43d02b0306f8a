import { noteChange } from '../../store/audit.ts'
import { markDue } from '../../store/due.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockSimRecord, setTag } from './rows/sim-changes.ts'

/**
 * Sets the tag of a SIM; an empty tag removes it. Marks the SIM due: rules may be for some tags only.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function tagSim(tx: TenantTx, { id, tag }: { id: number; tag: string }): Promise<{ id: number }> {
  const sim = await lockSimRecord(tx, id)
  if (sim.tag === tag) return { id }
  await setTag(tx, id, tag)
  await markDue(tx, [{ kind: 'sim', id }])
  await noteChange(tx, { subject: 'sim', id, before: { tag: sim.tag }, after: { tag } })
  return { id }
}
