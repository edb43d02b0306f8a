import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { demoEstate } from '../../../examples/estate.ts'
import { aStore, byHand } from '../../setup/estate.ts'
import { bytesBy, linesOf, recordsOf, shippedFile } from '../../unit/examples/usage-sums.ts'
import { aHarness, type Harness } from '../harness.ts'
import { storeEstate } from '../lived-month.ts'

const estate = demoEstate()
const lines = linesOf(shippedFile())
const records = recordsOf(lines)
const poolOf = new Map(estate.sims.map(({ iccid, pool }) => [iccid, pool ?? 'none']))
const CHUNK = 1000

const sent = lines.map(({ text }) => {
  const [recordId, iccid, at, up, down, voice, sms, begun, imei, country, mccMnc] = text.split(',')
  const [bytesUp, bytesDown, voiceSeconds, smsCount, sessions] = [up, down, voice, sms, begun].map(Number)
  return { recordId, iccid, at, bytesUp, bytesDown, voiceSeconds, smsCount, sessions, imei, country, mccMnc }
})

/** Sends records in chunks, one after the other. */
async function send(harness: Harness, values: readonly unknown[]) {
  let [accepted, duplicates] = [0, 0]
  for (let start = 0; start < values.length; start += CHUNK) {
    const answer = await harness.record(values.slice(start, start + CHUNK), start)
    expect(answer.rejected).toEqual([])
    accepted += answer.accepted
    duplicates += answer.duplicates
  }
  return { accepted, duplicates }
}

/** The demonstration's SIMs in their pools since September, in their own database: an ICCID is unique across tenants. */
async function theEstate(): Promise<Harness> {
  const harness = await aHarness(await aStore())
  await harness.asTenant(async (tx) => {
    const { places } = await storeEstate(tx, estate)
    const placed = sql`jsonb_to_recordset(${JSON.stringify(places)}::jsonb)
      as p("simId" bigint, "poolId" integer, "tariffId" integer)`
    await byHand(tx)
    await sql`update sims set status = 1, pool_id = "poolId", tariff_id = "tariffId" from ${placed} where id = "simId"`.execute(
      tx.q,
    )
    await sql`
      insert into memberships (sim_id, pool_id, tariff_id, from_at)
      select "simId", coalesce("poolId", 0), "tariffId", '2026-09-01T00:00:00Z' from ${placed}`.execute(tx.q)
    await sql`
      insert into active_spans (sim_id, from_at) select "simId", '2026-09-01T00:00:00Z' from ${placed}`.execute(tx.q)
  })
  return harness
}

/** The totals of the file, by SIM and by pool. */
async function totals(harness: Harness) {
  const [ledger, pools] = [
    await harness.rows(sql<{ iccid: string; pool: string; bytes: number; voice: number; sms: number }>`
      select s.iccid, coalesce(p.name, 'none') as pool, l.bytes, l.voice_seconds as voice, l.sms_count as sms
        from usage_ledger l join sims s on s.id = l.sim_id left join pools p on p.id = l.pool_id
       where l.cycle_key = '2026-10' order by s.iccid, pool`),
    await harness.rows(sql<{ pool: string; bytes: number; voice: number; sms: number; contributing: number }>`
      select coalesce(p.name, 'none') as pool, c.bytes, c.voice_seconds as voice, c.sms_count as sms, c.contributing
        from pool_cycles c left join pools p on p.id = c.pool_id where c.cycle_key = '2026-10' order by pool`),
  ]
  return { ledger, pools }
}

test('the shipped usage file adds up to an independent sum, in bytes', async () => {
  const harness = await theEstate()

  const inOrder = await send(harness, sent)

  const { ledger, pools } = await totals(harness)
  const used = ledger.filter(({ bytes }) => bytes > 0)
  const names = new Map(estate.pools.map(({ key, name }) => [key, name]))
  const nameOf = (iccid: string) => names.get(poolOf.get(iccid) ?? '') ?? 'none'
  expect(inOrder).toEqual({ accepted: records.length, duplicates: lines.length - records.length })
  expect(new Map(used.map(({ iccid, bytes }) => [iccid, bytes]))).toEqual(
    new Map([...bytesBy(records, ({ iccid }) => iccid)].filter(([, bytes]) => bytes > 0)),
  )
  expect(new Map(pools.flatMap(({ pool, bytes }) => (bytes > 0 ? [[pool, bytes]] : [])))).toEqual(
    bytesBy(records, ({ iccid }) => nameOf(iccid)),
  )
  expect(used.filter(({ iccid, pool }) => nameOf(iccid) !== pool)).toEqual([])
  const columns = records.map(({ text }) => text.split(',').map(Number))
  const sumOf = (column: number) => columns.reduce((total, values) => total + (values[column] ?? 0), 0)
  expect(ledger.reduce((total, { voice }) => total + voice, 0)).toBe(sumOf(5))
  expect(ledger.reduce((total, { sms }) => total + sms, 0)).toBe(sumOf(6))
})
