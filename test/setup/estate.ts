/** A database for a test file, and tenants, tariffs, pools and SIMs created by `service/`. */
import { sql } from 'kysely'
import { afterAll, onTestFinished, TestRunner } from 'vitest'
import { PoolType, TariffType, WatchdogMode } from '../../domain/codes.ts'
import type { Job } from '../../domain/jobs.ts'
import type { NewPool } from '../../domain/pools/pool.ts'
import { createPool } from '../../service/pools/create-pool.ts'
import { importSims } from '../../service/sims/import-sims.ts'
import { createTariff } from '../../service/tariffs/create-tariff.ts'
import { createTenant } from '../../service/tenants/create-tenant.ts'
import { inPlatform, inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { borrowDatabase, type Expected } from './borrowed-database.ts'

/** A store with a clock that the test sets, and jobs that it can read. */
export interface TestStore extends Store {
  now: number
  readonly jobs: Job[]
  readonly databaseUrl: string
}

/** A database for the test, or outside one for the test file, given back at its end. */
export async function aStore(now = '2026-11-10T12:00:00Z', expected?: Expected): Promise<TestStore> {
  const { store, close } = await openStore(now, expected)
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished
  atEnd(close)
  return store
}

/** A database that the caller closes: for tests that need many, one after another. */
export async function openStore(
  now = '2026-11-10T12:00:00Z',
  expected?: Expected,
): Promise<{ store: TestStore; close: () => Promise<void> }> {
  const { url, db, giveBack } = await borrowDatabase(8, expected)
  const jobs: Job[] = []
  const store: TestStore = {
    db,
    databaseUrl: url,
    now: Date.parse(now),
    jobs,
    clock: () => store.now,
    // In tests a deadlock is a fault: never retry.
    deadlockRetries: 0,
    enqueue: (enqueued) => jobs.push(...enqueued),
  }
  return { store, close: giveBack }
}

/** Lets the database count what the rest of the transaction changes of SIMs by SQL, as `service/` counts. */
export const byHand = (tx: Pick<TenantTx, 'q'>): Promise<unknown> =>
  sql`select set_config('app.tallies', 'off', true)`.execute(tx.q)

const FEES = { simMonthlyFee: 1, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 5 }
interface Fees {
  readonly simMonthlyFee: number
  readonly smsFee: number
  readonly voiceFee: number
  readonly overageFeePerGb: number
  readonly fixedBucketCost?: number
}

/** A tariff of a type with an allowance in bytes (per SIM; for Fixed, of the whole pool). */
export function aTariff(
  tx: TenantTx,
  type: TariffType,
  bytes: number,
  { fixedBucketCost = 20, ...fees }: Fees = FEES,
): Promise<{ id: number }> {
  const base = { baseTariffBytes: bytes, ...fees }
  const terms = {
    [TariffType.Standard]: { standardTariff: base },
    [TariffType['Dynamic Pool']]: { dynamicPoolTariff: base },
    [TariffType['Fixed Pool']]: { fixedPoolTariff: { fixedCapacityBytes: bytes, fixedBucketCost, ...fees } },
  }
  return createTariff(tx, { displayName: `tariff of ${bytes} bytes`, type, ...terms[type] })
}

export const aPool = (tx: TenantTx, tariffId: number, pool: Partial<NewPool> = {}): Promise<{ id: number }> =>
  createPool(tx, { type: PoolType.Standard, watchdogMode: WatchdogMode.Enforce, name: 'a pool', ...pool, tariffId })

let nextIccid = 8_944_500_000_000_000_000n

/** Imports SIMs with new ICCIDs. They are unprovisioned. @returns their ids and ICCIDs */
export async function someSims(tx: TenantTx, count: number): Promise<{ id: number; iccid: string }[]> {
  const sims = Array.from({ length: count }, () => ({ iccid: String(nextIccid++) }))
  const { created, rejected } = await importSims(tx, sims)
  if (rejected.length > 0) throw new Error(`SIMs were rejected: ${JSON.stringify(rejected)}`)
  return created
}

export async function aTenant(store: Store, billingCycle = 'P1M'): Promise<string> {
  const tenant = { name: 'Meadow', billingEmail: 'billing@meadow.example', billingCycle }
  return (await inPlatform(store, (tx) => createTenant(tx, tenant, { billingCycle: 'P1M', currency: 'EUR' }))).id
}

/** A tenant, what does work in its name, and what reads the rows of its queries. */
export async function aTenantOf(store: Store, billingCycle?: string) {
  const tenantId = await aTenant(store, billingCycle)
  const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(store, tenantId, work)
  const rows = <T>(query: ReturnType<typeof sql<T>>) => asTenant(async (tx) => (await query.execute(tx.q)).rows)
  return { tenantId, asTenant, rows }
}
