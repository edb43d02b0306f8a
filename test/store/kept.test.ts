/** Statements whose plans a connection keeps: they stay within a tenant, and need a session of one's own. */
import net from 'node:net'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSim } from '../../service/sims/rows/sim-reads.ts'
import { connect } from '../../store/connect.ts'
import { inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import { aStore, aTenant, someSims } from '../setup/estate.ts'
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

  test('is planned each time behind a pooler, which may give the session to others', async () => {
    const tenantId = await aTenant(store)
    const [sim] = await inTenant(store, tenantId, (tx) => someSims(tx, 1))
    const one = overOne(await pooler(store.databaseUrl))

    const seen = await inTenant(readOnly(one), tenantId, (tx) => readSim(tx, { by: 'id', id: sim?.id ?? 0 }))

    expect([seen?.sim.id, await keptBy(one)]).toEqual([sim?.id, 0])
  })
})
