/** The counts of pools follow every statement that changes SIMs, whoever sends it and however many it moves. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../domain/codes.ts'
import { wrongCounts } from '../../service/sims/rows/wrong-counts.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cases } from '../setup/cases.ts'
import { aPool, aStore, aTariff, aTenantOf, byHand, someSims } from '../setup/estate.ts'
import { heldOpen, lockWaiters } from '../setup/lock-waits.ts'
import { soon } from '../setup/soon.ts'

const store = await aStore()

/** A tenant with so many pools and Unprovisioned SIMs. */
async function anEstate(pools: number, sims: number) {
  const { asTenant } = await aTenantOf(store)
  const made = await asTenant(async (tx) => {
    const { id } = await aTariff(tx, TariffType['Dynamic Pool'], 1000)
    const poolIds: number[] = []
    for (let n = 0; n < pools; n++) poolIds.push((await aPool(tx, id, { type: 1 })).id)
    return { poolIds, simIds: (await someSims(tx, sims)).map((sim) => sim.id) }
  })
  return { asTenant, ...made }
}

interface Move {
  readonly simId: number
  /** Null: none, and Unprovisioned. */
  readonly poolId: number | null
  readonly status: number
}

/** Moves SIMs in one statement. */
async function move(tx: TenantTx, moves: readonly Move[]): Promise<void> {
  await byHand(tx)
  await sql`
    update sims s set pool_id = m."poolId", status = m.status
      from jsonb_to_recordset(${JSON.stringify(moves)}::jsonb) as m("simId" bigint, "poolId" integer, status smallint)
     where s.id = m."simId"`.execute(tx.q)
}

/** How often some work changes rows of a table, and how often without touching an index. */
async function changesBy(tx: TenantTx, table: string, work: () => Promise<unknown>) {
  // Of this connection, until it hands them on: so before and after.
  const counts = async () => {
    const { rows } = await sql<{ all: number; inPlace: number }>`
      select n_tup_upd::integer as all, n_tup_hot_upd::integer as "inPlace"
        from pg_stat_xact_user_tables where relname = ${table}`.execute(tx.q)
    return rows[0] ?? { all: 0, inPlace: 0 }
  }
  const before = await counts()
  await work()
  const after = await counts()
  return { all: after.all - before.all, inPlace: after.inPlace - before.inPlace }
}

describe('the counts of pools', () => {
  test('are those of the SIMs after any statements, in any number of pools', async () => {
    const { asTenant, poolIds, simIds } = await anEstate(3, 8)
    const place = fc.oneof(
      fc.constant({ poolId: null, status: 0 }),
      fc.record({ poolId: fc.constantFrom(...poolIds), status: fc.constantFrom(1, 2) }),
      fc.record({ poolId: fc.constant(null), status: fc.constantFrom(1, 2) }),
    )
    const statement = fc
      .uniqueArray(fc.constantFrom(...simIds), { maxLength: 8 })
      .chain((ids) => fc.tuple(...ids.map((simId) => place.map((where) => ({ simId, ...where })))))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(statement, { minLength: 1, maxLength: 2 }), { maxLength: 4 }), async (all) => {
        for (const statements of all)
          await asTenant(async (tx) => {
            for (const moves of statements) await move(tx, moves)
          })
        expect(await asTenant(wrongCounts)).toEqual([])
      }),
      { numRuns: cases(40) },
    )
  })

  test('change once a pool and statement, and not where nobody moves', async () => {
    const { asTenant, poolIds, simIds } = await anEstate(2, 6)
    const [from = 0, to = 0] = poolIds
    const all = (poolId: number, status: number) => simIds.map((simId) => ({ simId, poolId, status }))
    await asTenant(async (tx) => {
      const poolChanges = async (work: () => Promise<unknown>) => (await changesBy(tx, 'pools', work)).all
      expect(await poolChanges(() => move(tx, all(from, 1)))).toBe(1)
      expect(await poolChanges(() => move(tx, all(to, 1)))).toBe(2)
      expect(await poolChanges(() => move(tx, all(to, 1)))).toBe(0)
      expect(await poolChanges(() => sql`update sims set tag = 'field'`.execute(tx.q))).toBe(0)
    })
  })

  test('lock pools by id, so that SIMs that change places do not wait in a circle', async () => {
    const { asTenant, poolIds, simIds } = await anEstate(2, 2)
    const [lower = 0, higher = 0] = poolIds
    const [there = 0, back = 0] = simIds
    await asTenant((tx) =>
      move(tx, [
        { simId: there, poolId: lower, status: 1 },
        { simId: back, poolId: higher, status: 1 },
      ]),
    )
    // The lower pool's row is written last, so a scan of the small table finds it later.
    await sql`update pools set name = name where id = ${lower}`.execute(store.db)
    await sql`analyze pools`.execute(store.db)
    const release = await heldOpen(asTenant, (tx) =>
      sql`select from pools where id = ${lower} for no key update`.execute(tx.q),
    )
    // Both wait for the lower pool. Whoever has locked the higher one by then would keep the other from ending.
    const moving = [
      asTenant((tx) => move(tx, [{ simId: there, poolId: higher, status: 1 }])),
      asTenant((tx) => move(tx, [{ simId: back, poolId: lower, status: 1 }])),
    ]
    await soon(async () => expect(await lockWaiters(store)).toBe(2))

    await Promise.all([release(), ...moving])

    expect(await asTenant(wrongCounts)).toEqual([])
  })
})

describe('sims', () => {
  test('change their status without touching an index', async () => {
    const { asTenant, poolIds, simIds } = await anEstate(1, 1)
    const [poolId = 0] = poolIds
    const [simId = 0] = simIds
    await asTenant((tx) => move(tx, [{ simId, poolId, status: 1 }]))

    await asTenant(async (tx) => {
      const changes = await changesBy(tx, 'sims', () => move(tx, [{ simId, poolId, status: 2 }]))
      expect(changes).toEqual({ all: 1, inPlace: 1 })
    })
  })
})
