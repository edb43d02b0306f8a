/** Statements whose plans a connection keeps: they stay within a tenant, and need a session of one's own. */
import net from 'node:net'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { TariffType } from '../../domain/codes.ts'
import { pageOfPools } from '../../service/pools/rows/pools.ts'
import { readSim, readSummaries } from '../../service/sims/rows/sim-reads.ts'
import { rowFigures, simFigures } from '../../service/usage/rows/figures.ts'
import { connect } from '../../store/connect.ts'
import { inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import { aPool, aStore, aTariff, aTenant, someSims } from '../setup/estate.ts'
import { listening } from '../setup/listening.ts'

const store = await aStore()

/** The same store over one connection. */
function overOne(databaseUrl: string): Store {
  const { db, close } = connect(databaseUrl, { max: 1 })
  onTestFinished(close)
  return { ...store, db }
}

const keptBy = async ({ db }: Store) =>
  (await sql<{ name: string }>`select name from pg_prepared_statements where statement like '/* kept */%'`.execute(db))
    .rows.length

/** A line to PostgreSQL that names another process to the client, as a pooler does. */
async function pooler(databaseUrl: string): Promise<string> {
  const to = new URL(databaseUrl)
  const [host, port] = [to.hostname, Number(to.port)]
  const local = await listening((here) => {
    const there = net.connect(port, host)
    here.pipe(there)
    there.on('data', (bytes: Buffer) => {
      const key = bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
      if (key >= 0) bytes.writeInt32BE(1, key + 5)
      here.write(bytes)
    })
    for (const one of [here, there])
      one.on('error', () => undefined).on('close', () => (here.destroy(), there.destroy()))
  })
  to.host = `127.0.0.1:${local}`
  return to.href
}

describe('a kept statement', () => {
  test('sees the rows of the tenant that sends it only, whoever sent it first', async () => {
    const one = overOne(store.databaseUrl)
    const tenants = [await aTenant(store), await aTenant(store)]
    const sims = await Promise.all(
      tenants.map(async (tenantId) => (await inTenant(store, tenantId, (tx) => someSims(tx, 1)))[0]?.id ?? 0),
    )
    for (let round = 0; round < 8; round++) {
      for (const tenantId of tenants) {
        const seen = await inTenant(readOnly(one), tenantId, async (tx) =>
          Promise.all(sims.map(async (id) => (await readSim(tx, { by: 'id', id }))?.sim.id)),
        )
        expect(seen).toEqual(sims.map((id, n) => (tenants[n] === tenantId ? id : undefined)))
      }
    }
    expect(await keptBy(one)).toBe(2)
  })

  test('is planned once for all short lists', async () => {
    // As in a large estate, each row less would make a plan for the list look cheaper.
    const url = new URL(store.databaseUrl)
    url.searchParams.set('options', '-c cpu_tuple_cost=100')
    const one = overOne(url.href)
    const tenantId = await aTenant(store)
    const sims = await inTenant(store, tenantId, async (tx) => {
      const { id } = await aTariff(tx, TariffType.Standard, 1_000_000)
      for (let n = 0; n < 9; n++) await aPool(tx, id)
      return someSims(tx, 9)
    })
    for (let length = 1; length < 10; length++) {
      const ids = sims.slice(0, length).map(({ id }) => id)
      const [pools, summaries, rows, figures] = await inTenant(readOnly(one), tenantId, async (tx) => [
        (await pageOfPools(tx, { pageSize: length })).data,
        await readSummaries(tx, ids),
        await rowFigures(tx, '2026-11', ids),
        await simFigures(tx, '2026-11', ids),
      ])
      expect([pools?.length, summaries?.length, rows?.size, figures?.size]).toEqual([length, length, 0, 0])
    }
    const { rows } = await sql<{ planned: number }>`
      select custom_plans::integer as planned from pg_prepared_statements
       where statement like '/* kept */%ledger_figures%' or statement like '/* kept */%pool_figures%'`.execute(one.db)
    // PostgreSQL plans for the values five times before it plans for all.
    expect(rows).toEqual([{ planned: 5 }, { planned: 5 }, { planned: 5 }, { planned: 5 }])
  })

  test('is planned each time behind a pooler, which may give the session to others', async () => {
    const tenantId = await aTenant(store)
    const [sim] = await inTenant(store, tenantId, (tx) => someSims(tx, 1))
    const one = overOne(await pooler(store.databaseUrl))

    const seen = await inTenant(readOnly(one), tenantId, (tx) => readSim(tx, { by: 'id', id: sim?.id ?? 0 }))

    expect([seen?.sim.id, await keptBy(one)]).toEqual([sim?.id, 0])
  })
})
