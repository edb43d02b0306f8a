/** An estate of any size in a separate PostgreSQL, for benches. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createKey } from '../../service/tenants/create-key.ts'
import { createTenant } from '../../service/tenants/create-tenant.ts'
import { openRunningCycle } from '../../service/usage/rows/cycles.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { connect } from '../../store/connect.ts'
import { migrate } from '../../store/migrate/migrate.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'
import { type EstateRows, estateRows, iccidOf } from './estate-rows.ts'

export interface Estate extends Tenant {
  readonly store: Store
  /** Of the database, with the owner's password. */
  readonly url: string
  /** Of the server: the parent of all its processes. */
  readonly postgresPid: number
  /** The tenant's. */
  readonly key: string
  readonly operatorKey: string
  readonly sims: number
  /** The ICCID of the tenant's nth SIM, from 0. */
  readonly iccid: (n: number) => string
  /** Adds tenants with so many SIMs each, like the first. */
  readonly addTenants: (count: number, sims: number) => Promise<Tenant[]>
  readonly close: () => Promise<void>
}

export interface Tenant {
  readonly tenantId: string
  /** ICCID of an Active SIM, for any whole number from 0. */
  readonly activeIccid: (n: number) => string
}

const SIMS_A_POOL = 1000

/**
 * One tenant with so many SIMs in pools of 1,000, and another with a tenth of them. Of ten SIMs eight are Active, one is
 * Suspended and one Unprovisioned, outside the pools. A third of the pools has each type of tariff. The running cycle is
 * open.
 *
 * @param billingCycle of all tenants
 * @param madeAt when all was made; left out: 40 days ago
 */
export async function anEstate(sims: number, billingCycle = 'P1M', madeAt?: Date): Promise<Estate> {
  const dataDir = await mkdtemp(join(tmpdir(), 'simherd-bench-'))
  await chmod(dataDir, 0o755)
  const server = await startPostgres({ dataDir })
  await migrate(server.url)
  const { db, close } = connect(server.url, { max: 8 })
  const store: Store = { db, clock: Date.now, enqueue: () => undefined }
  const create = (name: string) =>
    inPlatform(store, (tx) =>
      createTenant(tx, { name, billingEmail: 'billing@meadow.example' }, { billingCycle, currency: 'EUR' }),
    )
  const { key: operatorKey } = await inPlatform(store, (tx) =>
    createKey(tx, null, { name: 'bench', scopes: ['operator'] }),
  )
  const owner = new pg.Client({ connectionString: server.url })
  await owner.connect()
  let made = 0
  const aTenant = async (name: string, size: number) => {
    const { id, key } = await create(name)
    const first = made
    made += size
    await fill(owner, id, { first, sims: size, ...(madeAt === undefined ? {} : { madeAt }) })
    return { tenantId: id, key, activeIccid: (n: number) => iccidOf(first + activeOf(n, size)) }
  }
  const tenant = await aTenant('Meadow', sims)
  await owner.query('vacuum (analyze)')
  await aTenant('Pond', Math.ceil(sims / 10))
  await owner.query('vacuum (analyze)')
  await openRunningCycle(store, tenant.tenantId)
  // As in a service that has run for some minutes: the planner knows the ledger.
  await owner.query('vacuum (analyze)')
  return {
    store,
    url: server.url,
    postgresPid: server.pid,
    ...tenant,
    operatorKey,
    sims,
    iccid: iccidOf,
    addTenants: async (count, size) => {
      const tenants: Tenant[] = []
      for (let n = 0; n < count; n++) {
        const one = await aTenant(`Brook ${n}`, size)
        await openRunningCycle(store, one.tenantId)
        tenants.push(one)
        if (n % 50 === 0) await owner.query('analyze')
      }
      await owner.query('vacuum (analyze)')
      return tenants
    },
    close: async () => {
      await owner.end()
      await close()
      await server.stop()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Number of an Active SIM among so many, for any whole number. The last 8 of 10 are Active. */
const activeOf = (n: number, sims: number) => {
  const at = n % (Math.floor(sims / 10) * 8)
  return Math.floor(at / 8) * 10 + 2 + (at % 8)
}

/** Fills a tenant by a few statements. */
async function fill(owner: pg.Client, tenantId: string, rows: Omit<EstateRows, 'simsAPool'>): Promise<void> {
  await owner.query(`select set_config('app.tenant', $1, false)`, [tenantId])
  // The counts of pools and blocks are written at the end, not by triggers row by row.
  await owner.query('set session_replication_role = replica')
  for (const statement of estateRows({ ...rows, simsAPool: SIMS_A_POOL })) await owner.query(statement)
}
