/** Changes of device: a SIM was found in another device than before. */
import { sql } from 'kysely'
import type { DeviceChange } from '../../../rules/fact-rows.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Most changes read of a SIM: the latest. */
const MOST_READ = 20

/**
 * The latest changes of SIMs, oldest first, by SIM.
 *
 * @param since when they were recorded, at the earliest
 */
export async function deviceChanges(
  tx: TenantTx,
  sims: readonly { readonly simId: number; readonly latest: number }[],
  since: Date,
): Promise<Map<number, DeviceChange[]>> {
  if (sims.length === 0) return new Map()
  const { rows } = await sql<DeviceChange & { simId: number }>`
    select c.sim_id as "simId", c.n, c.imei
      from jsonb_to_recordset(${JSON.stringify(sims)}::jsonb) as s("simId" bigint, latest integer)
      join device_changes c
        on c.tenant_id = ${mine} and c.sim_id = s."simId" and c.n > s.latest - ${MOST_READ}
       and c.recorded_at >= ${since}
     order by c.sim_id, c.n`.execute(tx.q)
  const found = new Map<number, DeviceChange[]>()
  for (const { simId, ...change } of rows) found.set(simId, [...(found.get(simId) ?? []), change])
  return found
}
