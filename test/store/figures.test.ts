import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { PoolType, TariffType } from '../../domain/codes.ts'
import { poolFigures as definition, type LedgerRow } from '../../domain/usage/allowance.ts'
import { currentCycle } from '../../service/usage/rows/cycles.ts'
import { NO_FIGURES, readPoolFigures, simFigures } from '../../service/usage/rows/figures.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { cases } from '../setup/cases.ts'
import { aPool, aStore, aTariff, aTenant, someSims } from '../setup/estate.ts'

const store = await aStore()
const tenantId = await aTenant(store)

/** Thrown to roll back what a run of a property wrote. */
class Undo extends Error {}

async function tried<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined
  await inTenant(store, tenantId, async (tx) => {
    result = { value: await work(tx) }
    throw new Undo()
  }).catch((error) => {
    if (!(error instanceof Undo)) throw error
  })
  if (result === undefined) throw new Error('the work did not end')
  return result.value
}

const bytes = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 5_000_000_000_000 }))
const tariffType = fc.constantFrom(...Object.values(TariffType))
const figures = fc.record({
  type: tariffType,
  allowance: bytes,
  ownAllowance: bytes,
  rows: fc.array(fc.record({ usage: bytes, contributing: fc.boolean(), own: fc.boolean() }), { maxLength: 12 }),
})

async function stored(tx: TenantTx, of: typeof figures extends fc.Arbitrary<infer T> ? T : never) {
  const tariff = await aTariff(tx, of.type, of.allowance)
  const own = await aTariff(tx, TariffType.Standard, of.ownAllowance)
  const type = of.type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
  const pool = await aPool(tx, tariff.id, { type })
  const sims = await someSims(tx, of.rows.length)
  const cycle = await currentCycle(tx)
  const ledger = of.rows.map((row, i) => ({ ...row, simId: sims[i]?.id ?? 0, tariffId: row.own ? own.id : null }))
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing, bytes)
    select ${cycle.key}, "simId", ${pool.id}, "tariffId", contributing, usage
      from jsonb_to_recordset(${JSON.stringify(ledger)}::jsonb)
        as r("simId" bigint, "tariffId" integer, contributing boolean, usage bigint)`.execute(tx.q)
  await sql`
    insert into pool_cycles (cycle_key, pool_id, bytes, contributing)
    select ${cycle.key}, ${pool.id}, coalesce(sum(bytes), 0)::bigint, count(*) filter (where contributing)
      from usage_ledger where cycle_key = ${cycle.key} and pool_id = ${pool.id}`.execute(tx.q)
  const figures = await readPoolFigures(tx, cycle.key, [pool.id])
  const { voiceSeconds: _, smsCount: __, ...ofPool } = figures.get(pool.id) ?? NO_FIGURES
  const lines = await simFigures(
    tx,
    cycle.key,
    ledger.map(({ simId }) => simId),
  )
  const rows = ledger.map(({ simId }) => {
    const { voiceSeconds: _, smsCount: __, ...line } = lines.get(simId) ?? NO_FIGURES
    return { simId, ...line }
  })
  const expected: LedgerRow[] = ledger.map((row) => ({
    simId: row.simId,
    usageBytes: row.usage,
    contributing: row.contributing,
    own: row.own ? { type: TariffType.Standard, allowanceBytes: of.ownAllowance } : null,
  }))
  return {
    sql: { ...ofPool, rows },
    definition: definition({ type: of.type, allowanceBytes: of.allowance }, expected),
  }
}

describe('poolFigures', () => {
  test('matches the definition in domain/ for whole pools', async () => {
    await fc.assert(
      fc.asyncProperty(figures, async (one) => {
        const { sql, definition } = await tried((tx) => stored(tx, one))
        expect(definition).toMatchObject(sql)
      }),
      { numRuns: cases(60) },
    )
  })
})
