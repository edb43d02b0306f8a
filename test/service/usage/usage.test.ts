import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, TicketType } from '../../../domain/codes.ts'
import type { UsageRecord } from '../../../domain/usage/usage-record.ts'
import { ALL_FACTS, NO_FACTS } from '../../../rules/facts-needed.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { readSims, readSituation } from '../../../service/watchdog/read-batch.ts'
import { aStore } from '../../setup/estate.ts'
import { overlapping } from '../../setup/lock-waits.ts'
import { aHarness, type Harness, oneActiveSim } from '../harness.ts'

const store = await aStore()
const NOW = Date.parse('2026-11-10T12:00:00Z')
const MINUTE = 60_000

const counts = (harness: Harness) =>
  harness.rows(sql<{ key: string; accepted: number; duplicate: number }>`
    select key, records_accepted as accepted, records_duplicate as duplicate from cycles order by key`)
const recordCount = async (harness: Harness) =>
  (await harness.rows(sql<{ count: number }>`select count(*) as count from usage_records`))[0]?.count

/** The totals of pools, buckets and records must equal the ledger's. */
async function expectOneTruth(harness: Harness) {
  const [sums] = await harness.rows(sql<Record<'ledger' | 'pools' | 'records' | 'inPools' | 'tenant', number>>`
    select (select sum(bytes) from usage_ledger)::bigint as ledger,
           (select sum(bytes) from pool_cycles)::bigint as pools,
           (select sum(bytes_up + bytes_down) from usage_records)::bigint as records,
           (select coalesce(sum(bytes), 0) from usage_buckets where subject_kind = 2)::bigint
             + (select coalesce(sum(bytes), 0) from usage_ledger where pool_id = 0)::bigint as "inPools",
           (select sum(bytes) from usage_buckets where subject_kind = 3)::bigint as tenant`)
  expect(new Set(Object.values(sums ?? {})).size, JSON.stringify(sums)).toBe(1)
}

describe('a usage record', () => {
  test('counts bytes, voice seconds and messages', async () => {
    const harness = await aHarness(store)
    const poolId = await harness.aPool()
    const [simId = 0] = await harness.activeSims(1, { poolId })

    await harness.record([
      harness.usage(simId, { bytesUp: 1, bytesDown: 20 }),
      harness.usage(simId, { voiceSeconds: 61, smsCount: 2 }),
      harness.usage(simId, { bytesDown: 300, smsCount: 1 }),
    ])

    expect(await harness.ledger()).toEqual([
      { cycle: '2026-11', simId, poolId, contributing: true, bytes: 321, voiceSeconds: 61, smsCount: 3 },
    ])
    await expectOneTruth(harness)
  })

  test('counts once, however often it is delivered', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const [one, two] = [harness.usage(simId, { bytesUp: 5 }), harness.usage(simId, { bytesUp: 7 })]

    const first = await harness.record([one, two, one])
    const second = await harness.record([two, { ...one, bytesDown: 0, at: '2026-11-10T13:00:00+01:00' }])

    expect(first).toMatchObject({ accepted: 2, duplicates: 1, rejected: [] })
    expect(second).toMatchObject({ accepted: 0, duplicates: 2, rejected: [] })
    expect(await harness.ledger()).toMatchObject([{ bytes: 12 }])
    expect(await counts(harness)).toEqual([{ key: '2026-11', accepted: 2, duplicate: 3 }])
  })

  test('is identified by tenant, record id and time', async () => {
    const [harness, other] = [await aHarness(store), await aHarness(store)]
    const [simId = 0] = await harness.activeSims(1)
    const [theirs = 0] = await other.activeSims(1)
    const record = harness.usage(simId, { recordId: 'same', bytesUp: 5 })

    const ours = await harness.record([record, { ...record, at: new Date(NOW - 1).toISOString() }])
    const notOurs = await other.record([
      { ...record, simId: theirs },
      { ...record, recordId: 'stranger' },
    ])

    expect(ours).toMatchObject({ accepted: 2, duplicates: 0 })
    expect(notOurs).toMatchObject({ accepted: 1, rejected: [{ index: 1, code: 'sim_not_found' }] })
  })

  test('counts in the cycle of its time', async () => {
    const { simId, ...harness } = await oneActiveSim(store)

    await harness.record([
      harness.usage(simId, { at: '2026-10-31T23:59:59.999Z', bytesUp: 1 }),
      harness.usage(simId, { at: '2026-11-01T00:00:00Z', bytesUp: 10 }),
      harness.usage(simId, { at: '2026-11-01T00:30:00+01:00', bytesUp: 100 }),
    ])

    expect(await harness.ledger()).toMatchObject([
      { cycle: '2026-10', bytes: 101, contributing: false },
      { cycle: '2026-11', bytes: 10, contributing: true },
    ])
  })

  test('counts in the pool its SIM was in', async () => {
    const harness = await aHarness(store)
    const [before, after] = [await harness.aPool(), await harness.aPool()]
    store.now = Date.parse('2026-10-10T12:00:00Z')
    const [simId = 0] = await harness.activeSims(1, { poolId: before })
    store.now = NOW
    await harness.complete({
      simId,
      type: TicketType.Provision,
      poolId: after,
      cause: { by: 'month-end', cycle: '2026-10' },
      effectiveAt: new Date('2026-11-01T00:00:00Z'),
    })

    await harness.record([
      harness.usage(simId, { at: '2026-11-01T00:00:00Z', bytesUp: 1000 }),
      harness.usage(simId, { at: '2026-10-31T23:59:59Z', bytesUp: 100 }),
      harness.usage(simId, { at: '2026-10-10T12:00:00Z', bytesUp: 10 }),
      harness.usage(simId, { at: '2026-10-10T11:59:59Z', bytesUp: 1 }),
    ])

    expect((await harness.ledger()).map(({ cycle, poolId, bytes }) => [cycle, poolId, bytes])).toEqual([
      ['2026-10', 0, 1],
      ['2026-10', before, 110],
      ['2026-11', after, 1000],
    ])
    await expectOneTruth(harness)
  })

  test('is noted as a change of its SIM and its pool, and enqueues an evaluation', async () => {
    const harness = await aHarness(store)
    const poolId = await harness.aPool()
    const [simId = 0] = await harness.activeSims(2, { poolId })
    await harness.rows(sql`delete from changed_subjects returning 1`)
    store.jobs.length = 0

    await harness.record([harness.usage(simId, { bytesUp: 1 })])

    expect(await harness.rows(sql`select sim_ids as "simIds", pool_ids as "poolIds" from changed_subjects`)).toEqual([
      { simIds: [String(simId)], poolIds: [poolId] },
    ])
    expect(store.jobs).toEqual([{ queue: 'evaluate', tenantId: harness.tenantId }])
  })
})

describe('a rejected record', () => {
  test('is named by its place in the delivery', async () => {
    const harness = await aHarness(store)
    const [simId = 0, other = 0] = await harness.activeSims(2)
    const known = harness.usage(simId, { bytesUp: 50 })
    await harness.record([known])
    const twin = harness.usage(simId, { recordId: 'twin', bytesUp: 3 })

    const { accepted, duplicates, rejected } = await harness.record(
      [
        harness.usage(simId, { bytesUp: 1 }),
        'not a record',
        { ...known, bytesUp: 51 },
        { ...known, simId: other },
        known,
        harness.usage(simId, { at: new Date(store.now + 5 * MINUTE + 1).toISOString(), bytesUp: 1 }),
        harness.usage(simId, { at: new Date(store.now + 5 * MINUTE).toISOString(), bytesUp: 2 }),
        harness.usage(simId, { bytesDown: -1 }),
        harness.usage(simId, { bytesDown: -1000, correction: true }),
        harness.usage(simId, { bytesDown: -20, correction: true }),
        harness.usage(2 ** 40, { bytesUp: 1 }),
        { ...harness.usage(simId), simId: undefined, iccid: '8944500000000009999', bytesUp: 1 },
        { ...harness.usage(simId), iccid: '8944500000000009999' },
        harness.usage(simId, { at: '2026-11-31T00:00:00' }),
        harness.usage(simId, { bytesUp: 1.5 }),
        twin,
        { ...twin, bytesUp: 4 },
        harness.usage(simId, { colour: 'red' }),
      ],
      7000,
    )

    expect(rejected.map(({ index, code }) => [index - 7000, code])).toEqual([
      [1, 'invalid_record'],
      [2, 'record_conflict'],
      [3, 'record_conflict'],
      [5, 'usage_in_future'],
      [7, 'negative_usage'],
      [8, 'negative_total'],
      [10, 'sim_not_found'],
      [11, 'sim_not_found'],
      [12, 'invalid_record'],
      [13, 'invalid_record'],
      [14, 'invalid_record'],
      [16, 'record_conflict'],
      [17, 'invalid_record'],
    ])
    expect({ accepted, duplicates }).toEqual({ accepted: 4, duplicates: 1 })
    expect(await harness.ledger()).toMatchObject([
      { simId, bytes: 50 + 1 + 2 - 20 + 3 },
      { simId: other, bytes: 0 },
    ])
    await expectOneTruth(harness)
  })

  test('is accepted once there is something to correct', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const correction = harness.usage(simId, { smsCount: -2, correction: true })

    const early = await harness.record([correction])
    const later = await harness.record([correction, harness.usage(simId, { smsCount: 2 })])

    expect(early).toMatchObject({ accepted: 0, rejected: [{ index: 0, code: 'negative_total' }] })
    expect(later).toMatchObject({ accepted: 2, rejected: [] })
    expect(await harness.ledger()).toMatchObject([{ smsCount: 0 }])
  })

  test('does not block a smaller correction after it', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    await harness.record([harness.usage(simId, { bytesUp: 10 })])
    const minus = (bytesUp: number) => harness.usage(simId, { bytesUp, correction: true })

    const answer = await harness.record([minus(-6), minus(-6), minus(-4)])

    expect(answer).toMatchObject({ accepted: 2, rejected: [{ index: 1, code: 'negative_total' }] })
    expect(await harness.ledger()).toMatchObject([{ bytes: 0 }])
  })
})

describe('the device of a SIM', () => {
  const [OLD, NEW] = ['356938035643809', '490154203237518']

  test('is the last seen, despite late records', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const seen = (minute: number, imei?: string) =>
      harness.usage(simId, { at: new Date(store.now - minute * MINUTE).toISOString(), imei })

    await harness.record([seen(20, OLD)])
    await harness.record([seen(10, NEW)])
    await harness.record([seen(15, OLD), seen(5)])

    const device = sql`
      select imei, previous_imei as previous, last_seen_at as "seenAt" from sim_sightings where sim_id = ${simId}`
    const seenAt = new Date(store.now - 5 * MINUTE)
    expect(await harness.rows(device)).toEqual([{ imei: NEW, previous: OLD, seenAt }])
  })
})

test('sessions are counted in all pools of a SIM', async () => {
  const harness = await aHarness(store)
  const poolId = await harness.aPool()
  const [simId = 0] = await harness.activeSims(1, { poolId })
  await harness.record([harness.usage(simId, { sessions: 3 }), harness.usage(simId, { sessions: 4, smsCount: 1 })])
  store.now += 10 * MINUTE
  const cause = { by: 'month-end', cycle: '2026-10' } as const
  await harness.complete({ simId, type: TicketType.Provision, poolId: await harness.aPool(), cause })
  await harness.record([harness.usage(simId, { sessions: 10 })])

  const [sim] = await harness.asTenant(async (tx) => readSims(tx, await readSituation(tx), [simId], ALL_FACTS))

  expect(sim?.facts).toMatchObject({ sessions: 17, sessions24h: 17, smsCount: 1 })
  expect(await harness.rows(sql`select sessions from usage_ledger order by sessions`)).toEqual([
    { sessions: 7 },
    { sessions: 10 },
  ])
})

describe('the place of a SIM', () => {
  const placeOf = async (harness: Harness, simId: number) => {
    const found = await harness.asTenant(async (tx) => readSims(tx, await readSituation(tx), [simId], NO_FACTS))
    const { lastCountry, lastMccMnc, lastRat, countryChanged } = found[0]?.facts ?? {}
    return [lastCountry, lastMccMnc, lastRat, countryChanged]
  }

  test('is that of its newest record that names it, and a change of country is told', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const seen = (minute: number, place: Partial<UsageRecord> = {}) =>
      harness.usage(simId, { at: new Date(store.now - minute * MINUTE).toISOString(), ...place })
    const found: unknown[] = []
    const then = async (...records: UsageRecord[]) => {
      expect(await harness.record(records)).toMatchObject({ accepted: records.length })
      found.push(await placeOf(harness, simId))
    }

    await then(seen(60))
    await then(seen(50, { country: 'DE', mccMnc: '26201' }))
    await then(seen(51, { country: 'FR' }))
    await then(seen(40, { rat: 'LTE', country: '' }), seen(39), seen(45, { country: 'DE', mccMnc: '26202' }))
    await then(
      seen(20, { country: 'DE' }),
      seen(30, { country: 'CH', mccMnc: '22801', rat: 'NB-IoT' }),
      seen(55, { country: 'FR' }),
    )

    expect(found).toEqual([
      [null, null, null, false],
      ['DE', '26201', null, false],
      ['DE', '26201', null, false],
      ['DE', '26202', 'LTE', false],
      ['DE', '22801', 'NB-IoT', true],
    ])
    store.now += 2 * 86_400_000
    expect(await placeOf(harness, simId)).toEqual(['DE', '22801', 'NB-IoT', false])
  })

  test('is part of a record: sent again with another, it is refused', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const one = harness.usage(simId, { bytesUp: 5, country: 'DE', mccMnc: '26201', rat: 'LTE' })

    const answers = []
    for (const record of [one, one, { ...one, country: 'FR' }, { ...one, mccMnc: '' }, { ...one, rat: '5G' }])
      answers.push(await harness.record([record]))

    expect(answers).toMatchObject([
      { accepted: 1 },
      { duplicates: 1 },
      ...Array.from({ length: 3 }, () => ({ rejected: [{ code: 'record_conflict' }] })),
    ])
  })
})

describe('concurrent deliveries', () => {
  const shuffled = <T>(values: readonly T[], seed: number): T[] =>
    values
      .map((value, i) => ({ value, order: ((i + 1) * 7919 * (seed + 3)) % 1009 }))
      .sort((a, b) => a.order - b.order)
      .map(({ value }) => value)

  test('count again what somebody without the merge lock stores meanwhile', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    await harness.record([harness.usage(simId, { bytesUp: 1 })])
    const [known, fresh] = [harness.usage(simId, { bytesUp: 5 }), harness.usage(simId, { bytesUp: 7 })]
    const storeKnown = sql`
      insert into usage_records (record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds, sms_count,
                                 received_at)
      values (${known.recordId}, ${known.at}, ${simId}, 0, '2026-11', 5, 0, 0, 0, ${known.at})`
    let answer: unknown

    await overlapping(
      store,
      harness.tenantId,
      (tx) => storeKnown.execute(tx.q),
      async () => {
        answer = await harness.record([known, fresh])
      },
    )

    expect(answer).toMatchObject({ accepted: 1, duplicates: 1, rejected: [] })
    expect((await harness.ledger()).map(({ bytes }) => bytes)).toEqual([8])
  })

  test('count overlapping records once, without deadlock', async () => {
    const harness = await aHarness(store)
    const pools = [await harness.aPool(), await harness.aPool(), await harness.aPool()]
    const sims = (await Promise.all(pools.map((poolId) => harness.activeSims(4, { poolId })))).flat()
    const records = Array.from({ length: 240 }, (_, i) =>
      harness.usage(sims[i % sims.length] ?? 0, {
        at: new Date(NOW - i * 1000 * MINUTE * 0.2).toISOString(),
        bytesUp: i,
      }),
    )

    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, seed) => harness.record(shuffled(records, seed).slice(0, 200))),
    )
    const rest = await harness.record(records)

    const accepted = [...answers, rest].reduce((sum, answer) => sum + answer.accepted, 0)
    const duplicates = [...answers, rest].reduce((sum, answer) => sum + answer.duplicates, 0)
    expect({ accepted, duplicates }).toEqual({ accepted: 240, duplicates: 8 * 200 })
    expect((await harness.ledger()).reduce((sum, { bytes }) => sum + bytes, 0)).toBe((239 * 240) / 2)
    expect(await recordCount(harness)).toBe(240)
    const cycles = await counts(harness)
    expect(cycles.reduce((sum, cycle) => sum + cycle.accepted, 0)).toBe(240)
    expect(cycles.reduce((sum, cycle) => sum + cycle.duplicate, 0)).toBe(8 * 200)
    await expectOneTruth(harness)
  })

  test('accept one of several conflicting records', async () => {
    const harness = await aHarness(store)
    const sims = await harness.activeSims(8)
    const record = harness.usage(0, { recordId: 'contested', bytesUp: 1 })

    const answers = await Promise.all(sims.map((simId) => harness.record([{ ...record, simId }])))

    expect(answers.filter(({ accepted }) => accepted === 1)).toHaveLength(1)
    expect(answers.flatMap(({ rejected }) => rejected.map(({ code }) => code))).toEqual(
      Array(7).fill('record_conflict'),
    )
    expect((await harness.ledger()).reduce((sum, { bytes }) => sum + bytes, 0)).toBe(1)
  })

  test('open a new cycle without deadlock', async () => {
    for (let round = 0; round < 6; round++) {
      const harness = await aHarness(store, 'PT1H')
      const poolId = await harness.aPool()
      const sims = await harness.activeSims(8, { poolId })
      const at = (hour: number) => new Date(NOW - hour * 60 * MINUTE).toISOString()

      const answers = await Promise.all(
        sims.map((simId, i) =>
          harness.record([
            harness.usage(simId, { at: at(0), bytesUp: 1 }),
            ...(i % 2 === 0 ? [1, 2, 3].map((hour) => harness.usage(simId, { at: at(hour), bytesUp: 1 })) : []),
          ]),
        ),
      )

      expect(answers.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(20)
      await expectOneTruth(harness)
    }
  })
})

describe('late records', () => {
  test('are logged once per SIM, cycle and batch', async () => {
    const harness = await aHarness(store)
    const [one = 0, two = 0] = await harness.activeSims(2)
    await harness.record([harness.usage(one, { at: '2026-09-10T00:00:00Z', bytesUp: 1 })])
    for (const cycle of ['2026-09', '2026-10']) await harness.asTenant((tx) => closeCycle(tx, cycle))
    const late = (simId: number, month: number, bytesUp: number) =>
      harness.usage(simId, { at: `2026-${month < 10 ? '0' : ''}${month}-20T00:00:00Z`, bytesUp })
    const batch = [
      late(one, 9, 1),
      late(one, 9, 2),
      late(two, 9, 4),
      late(one, 10, 8),
      harness.usage(one, { bytesUp: 16 }),
    ]

    await harness.record(batch)
    await harness.record(batch)
    const afterOne = await harness.log()
    const info = (said: string) => ({ level: LogLevel.Info, message: expect.stringContaining(said) })
    await harness.record([late(one, 9, 32)])

    expect(afterOne).toMatchObject([
      { ...info('2 records with 3 B came'), simId: one, cycle: '2026-09' },
      { ...info('8 B'), simId: one, cycle: '2026-10' },
      { ...info('4 B'), simId: two, cycle: '2026-09' },
    ])
    expect((await harness.log()).slice(3)).toMatchObject([{ simId: one, cycle: '2026-09' }])
    expect((await harness.ledger()).filter(({ cycle }) => cycle === '2026-09')).toMatchObject([
      { simId: one, bytes: 36 },
      { simId: two, bytes: 4 },
    ])
  })

  test('are either stated or logged during a close', async () => {
    for (let round = 0; round < 5; round++) {
      const harness = await aHarness(store)
      const poolId = await harness.aPool()
      const sims = await harness.activeSims(6, { poolId })
      await harness.record(sims.map((simId) => harness.usage(simId, { at: '2026-10-05T00:00:00Z', bytesUp: 1 })))
      const late = sims.map((simId) =>
        harness.record([harness.usage(simId, { at: '2026-10-06T00:00:00Z', bytesUp: 10 })]),
      )

      await Promise.all([...late, harness.asTenant((tx) => closeCycle(tx, '2026-10'))])

      const [statement] = await harness.rows(sql<{ bytes: number }>`
        select sum(bytes)::bigint as bytes from statements where kind = 'sim'`)
      expect((statement?.bytes ?? 0) + 10 * (await harness.log()).length).toBe(66)
    }
  })
})
