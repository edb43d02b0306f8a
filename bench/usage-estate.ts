/** A large estate for a bench, written by a few statements: one tenant, its pools, and SIMs that are Active in them. */
import pg from 'pg'
import { createKey } from '../operations/tenants/create-key.ts'
import { createTenant } from '../operations/tenants/create-tenant.ts'
import { connect } from '../store/connect.ts'
import { migrate } from '../store/migrate.ts'
import { inPlatform, inTenant } from '../store/tenancy.ts'
import { currentCycle } from '../store/usage/cycles.ts'

export interface Estate {
  readonly tenantId: string
  readonly operatorKey: string
  readonly sims: number
  /** The ICCID of the nth SIM, from 0. */
  readonly iccid: (n: number) => string
}

const SIMS_A_POOL = 1000
const FIRST_ICCID = 8_944_500_000_000_000_000n

/** Allowance of a SIM in bytes: more than a bench sends, so that no pool is over. */
const ALLOWANCE = 10 ** 12

/**
 * Migrates a database and fills it.
 *
 * @param url of an empty database, with the owner's password
 * @param sims number of SIMs; pools have a thousand each, a third of them with each kind of tariff
 */
export async function fillEstate(url: string, sims: number): Promise<Estate> {
  await migrate(url)
  const { db, close } = connect(url, { max: 1, unlimited: true })
  const store = { db, clock: Date.now, enqueue: () => {} }
  const { id: tenantId } = await inPlatform(store, (tx) =>
    createTenant(tx, { name: 'Bench', billingEmail: 'billing@bench.example' }, 'P1M'),
  )
  const { key } = await inPlatform(store, (tx) => createKey(tx, null, { name: 'bench', scopes: ['operator'] }))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Forced row-level security binds the owner too.
    await client.query("select set_config('app.tenant', $1, false)", [tenantId])
    // The counts of pools and blocks are written at the end, not by triggers row by row.
    await client.query('set session_replication_role = replica')
    for (const statement of statementsFor(sims)) await client.query(statement)
  } finally {
    await client.end()
  }
  await inTenant({ ...store, slow: true }, tenantId, currentCycle)
  await close()
  return { tenantId, operatorKey: key, sims, iccid: (n) => String(FIRST_ICCID + BigInt(n)) }
}

const statementsFor = (sims: number): string[] => [
  `insert into tariffs (tenant_id, display_name, description, type, allowance_bytes, sim_monthly_fee, fixed_bucket_cost,
                        sms_fee, voice_fee, overage_fee_per_gb, created_at)
   select app_tenant(), 'tariff ' || type, '', type, ${ALLOWANCE}, 0, 0, 0, 0, 0, now() from generate_series(0, 2) as t(type)`,
  `insert into pools (name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
   select 'pool ' || n, case when t.type = 1 then 1 else 0 end, t.id, 1, now(), now(), now()
     from generate_series(0, ${Math.ceil(sims / SIMS_A_POOL) - 1}) as p(n)
     join tariffs t on t.tenant_id = app_tenant() and t.type = p.n % 3 order by n`,
  `insert into sims (iccid, type, status, status_since, pool_id, tag, provisioned_at, created_at, updated_at)
   select (${FIRST_ICCID} + s.n)::text, 0, 1, now() - interval '40 days', p.id, 'meter ' || s.n,
          now() - interval '40 days', now() - interval '40 days', now()
     from generate_series(0, ${sims - 1}) as s(n)
     join (select id, row_number() over (order by id) - 1 as n from pools) p on p.n = s.n / ${SIMS_A_POOL}`,
  `insert into memberships (sim_id, pool_id, from_at) select id, pool_id, now() - interval '40 days' from sims order by id`,
  `insert into active_spans (sim_id, from_at) select id, now() - interval '40 days' from sims order by id`,
  `update pools p set active_sim_count = c.sims, total_sim_count = c.sims
     from (select pool_id, count(*) as sims from sims group by pool_id) c where p.id = c.pool_id`,
  'insert into sim_blocks (block, status, sims) select id >> 12, status, count(*) from sims group by 1, 2',
  'analyze',
]
