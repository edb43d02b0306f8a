/** An estate of any size in a PostgreSQL of its own, for benches of reads. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createTenant } from '../operations/tenants/create-tenant.ts'
import { startPostgres } from '../stack/postgres/postgres.ts'
import { connect } from '../store/connect.ts'
import { migrate } from '../store/migrate.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'

export interface Estate {
  readonly store: Store
  readonly url: string
  readonly tenantId: string
  readonly key: string
  readonly close: () => Promise<void>
}

/**
 * One tenant with so many SIMs in pools of 1,000, and another with a tenth of them. Of ten SIMs eight are Active, one is
 * Suspended and one Unprovisioned, outside the pools.
 */
export async function anEstate(sims: number): Promise<Estate> {
  const dataDir = await mkdtemp(join(tmpdir(), 'simherd-bench-'))
  await chmod(dataDir, 0o755)
  const server = await startPostgres({ dataDir })
  await migrate(server.url)
  const { db, close } = connect(server.url, { max: 8 })
  const store: Store = { db, clock: Date.now, enqueue: () => undefined }
  const create = (name: string) =>
    inPlatform(store, (tx) => createTenant(tx, { name, billingEmail: 'billing@meadow.example' }, 'P1M'))
  const tenant = await create('Meadow')
  await fill(server.url, tenant.id, sims)
  await fill(server.url, (await create('Pond')).id, Math.ceil(sims / 10))
  return {
    store,
    url: server.url,
    tenantId: tenant.id,
    key: tenant.key,
    close: async () => {
      await close()
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function fill(url: string, tenantId: string, sims: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`select set_config('app.tenant', $1, false)`, [tenantId])
    const { rows } = await client.query(
      `insert into tariffs (tenant_id, display_name, description, type, allowance_bytes, sim_monthly_fee, sms_fee,
                            voice_fee, overage_fee_per_gb, created_at)
       values ($1, 'T', '', 0, 1e9, 0, 0, 0, 0, now()) returning id`,
      [tenantId],
    )
    await client.query(
      `insert into pools (tenant_id, name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
       select $1, 'Pool ' || n, 0, $2, 0, now(), now(), now() from generate_series(0, $3::integer) n`,
      [tenantId, rows[0]?.id, Math.floor((sims - 1) / 1000)],
    )
    await client.query('set session_replication_role = replica')
    await client.query(
      `insert into sims (tenant_id, iccid, imsi, msisdn, tag, type, status, status_since, pool_id, created_at, updated_at)
       select $1, lpad((8944 * 10::numeric ^ 15 + abs(hashtext($1)::bigint) % 100 * 10::numeric ^ 9 + n)::text, 19, '0'),
              '26201' || lpad((n * 7919 % 10000000000)::text, 10, '0'),
              '4917' || lpad((n * 104729 % 1000000000)::text, 9, '0'), 'meter-' || n || ' hall ' || n % 40, 0,
              case n % 10 when 0 then 0 when 1 then 2 else 1 end, now(), case when n % 10 > 0 then p.first + n / 1000 end,
              now(), now()
         from generate_series(0, $2::bigint - 1) n, (select min(id) as first from pools where tenant_id = $1) p
        order by n`,
      [tenantId, sims],
    )
    await client.query(
      `update pools p set active_sim_count = c.active, total_sim_count = c.total
         from (select pool_id, count(*) filter (where status = 1) as active, count(*) as total from sims group by 1) c
        where p.id = c.pool_id`,
    )
    await client.query(
      `insert into sim_blocks (tenant_id, block, status, sims)
       select tenant_id, id >> 12, status, count(*) from sims where tenant_id = $1 group by 1, 2, 3`,
      [tenantId],
    )
    await client.query('vacuum (analyze)')
  } finally {
    await client.end()
  }
}
