import { sql } from 'kysely'
import { inTenant, type Store } from '../../store/tenancy.ts'

/**
 * Does work as if only one SIM of a tenant had open tickets: those of its other SIMs are put off until the work has
 * ended. Not for two SIMs of a tenant at once.
 */
export async function withOnlySim<T>(
  store: Store,
  tenantId: string,
  simId: number,
  work: () => Promise<T>,
): Promise<T> {
  const change = (statement: ReturnType<typeof sql>) => inTenant(store, tenantId, (tx) => statement.execute(tx.q))
  await change(sql`
    update ticket_work set due_at = due_at + interval '1000 years'
     where sim_id = any(array(select sim_id from ticket_work where sim_id <> ${simId} order by sim_id for update))`)
  try {
    return await work()
  } finally {
    await change(sql`
      update ticket_work set due_at = due_at - interval '1000 years'
       where sim_id = any(array(select sim_id from ticket_work where due_at > '3000-01-01' order by sim_id for update))`)
  }
}
