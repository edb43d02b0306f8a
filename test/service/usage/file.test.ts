import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { demoEstate } from '../../../examples/estate.ts'
import { createPool } from '../../../service/pools/create-pool.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { createTariff } from '../../../service/tariffs/create-tariff.ts'
import { aStore, byHand } from '../../setup/estate.ts'
import { bytesBy, linesOf, recordsOf, shippedFile } from '../../unit/examples/usage-sums.ts'
import { aHarness, type Harness } from '../harness.ts'

const estate = demoEstate()
const lines = linesOf(shippedFile())
const records = recordsOf(lines)
const poolOf = new Map(estate.sims.map(({ iccid, pool }) => [iccid, pool ?? 'none']))
const CHUNK = 1000

const sent = lines.map(({ text }) => {
  const [recordId, iccid, at, up, down, voice, sms, imei] = text.split(',')
  const [bytesUp, bytesDown, voiceSeconds, smsCount] = [up, down, voice, sms].map(Number)
  return { recordId, iccid, at, bytesUp, bytesDown, voiceSeconds, smsCount, imei }
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
    const tariffs = new Map<string, number>()
    for (const { key, ...tariff } of estate.tariffs) tariffs.set(key, (await createTariff(tx, tariff)).id)
    const pools = new Map<string, number>()
    for (const { key, tariff, ...pool } of estate.pools) {
      pools.set(key, (await createPool(tx, { ...pool, tariffId: tariffs.get(tariff) ?? 0 })).id)
    }
    const { created } = await importSims(
      tx,
      estate.sims.map(({ pool, tariff, device, ...sim }) => sim),
    )
    const places = estate.sims.map(({ iccid, pool, tariff }) => ({
      simId: created.find((sim) => sim.iccid === iccid)?.id,
      poolId: pools.get(pool ?? '') ?? null,
      tariffId: tariffs.get(tariff ?? '') ?? null,
    }))
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

/** Every total of the file, from each table that keeps one. */
async function totals(harness: Harness) {
  const [ledger, pools, buckets, sims] = [
    await harness.rows(sql<{ iccid: string; pool: string; bytes: number; voice: number; sms: number }>`
      select s.iccid, coalesce(p.name, 'none') as pool, l.bytes, l.voice_seconds as voice, l.sms_count as sms
        from usage_ledger l join sims s on s.id = l.sim_id left join pools p on p.id = l.pool_id
       where l.cycle_key = '2026-10' order by s.iccid, pool`),
    await harness.rows(sql<{ pool: string; bytes: number; voice: number; sms: number; contributing: number }>`
      select coalesce(p.name, 'none') as pool, c.bytes, c.voice_seconds as voice, c.sms_count as sms, c.contributing
        from pool_cycles c left join pools p on p.id = c.pool_id where c.cycle_key = '2026-10' order by pool`),
    await harness.rows(sql<{ kind: number; subject: string; buckets: number; bytes: number }>`
      select subject_kind as kind, coalesce(s.iccid, p.name, '') as subject, count(*)::integer as buckets,
             sum(b.bytes)::bigint as bytes, sum(b.voice_seconds)::bigint as voice, sum(b.sms_count)::bigint as sms
        from usage_buckets b
        left join sims s on subject_kind = 1 and s.id = subject_id
        left join pools p on subject_kind = 2 and p.id = subject_id
       group by 1, 2 order by 1, 2`),
    await harness.rows(sql<{ iccid: string; imei: string; seenAt: Date }>`
      select s.iccid, g.imei, g.last_seen_at as "seenAt"
        from sims s join sim_seen g on g.sim_id = s.id order by s.iccid`),
  ]
  return { ledger, pools, buckets, sims }
}

const [whole, halves] = [await theEstate(), await theEstate()]
const middle = Math.floor(sent.length / 2)
const [inOrder, secondHalfFirst] = await Promise.all([
  send(whole, sent),
  send(halves, sent.slice(middle)).then(async (second) => {
    const first = await send(halves, sent.slice(0, middle))
    return first.accepted + second.accepted
  }),
])

describe('the shipped usage file', () => {
  test('adds up to an independent sum, in bytes', async () => {
    const { ledger, pools } = await totals(whole)

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

  test('adds up to the same with halves swapped', async () => {
    expect(secondHalfFirst).toBe(records.length)
    expect(await totals(halves)).toEqual(await totals(whole))
  })

  test('changes nothing when sent again', async () => {
    const before = await totals(whole)

    const answer = await send(whole, sent)

    expect(answer).toEqual({ accepted: 0, duplicates: lines.length })
    expect(await totals(whole)).toEqual(before)
  }, 60_000)
})
