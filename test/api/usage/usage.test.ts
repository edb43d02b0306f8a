import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { anIccid, aSim, useHarness } from '../harness.ts'

const harness = useHarness()
const AT = '2026-11-20T10:00:00Z'

const send = (body: unknown, headers = {}) => harness.tenant.inside('POST', '/internal/usage', body, headers)
const lines = (records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')

describe('POST /internal/usage', () => {
  test('is 503 with Retry-After until its cycle is open, then counts once', async () => {
    const iccid = anIccid()
    await harness.tenant.inside('POST', '/internal/sims', { sims: [{ iccid }, { iccid: anIccid() }] })
    const record = { recordId: 'early', iccid, at: '2026-09-20T10:00:00Z', bytesUp: 1 }
    Object.assign(harness.store, { opening: { sims: 1, waitMs: 0 } })
    const answers = [await send({ records: [record] })]
    while (answers.at(-1)?.status === 503 && answers.length < 10) answers.push(await send({ records: [record] }))
    Object.assign(harness.store, { opening: undefined })

    expect(answers[0]).toMatchObject({
      status: 503,
      body: { code: 'unavailable', detail: expect.stringContaining('2026-09') },
      headers: { 'retry-after': '5' },
    })
    expect(answers.at(-1)).toMatchObject({ status: 200, body: { accepted: 1, duplicates: 0 } })
    expect((await send({ records: [record] })).body).toMatchObject({ accepted: 0, duplicates: 1 })
  })

  test('counts records of JSON, NDJSON and CSV once', async () => {
    const { id: simId, iccid } = await aSim(harness.tenant)
    const record = { recordId: 'a', iccid, at: AT, bytesUp: 100, bytesDown: 200, smsCount: 1 }
    const csv = `recordId,iccid,at,bytesUp,bytesDown,voiceSeconds,smsCount,imei\nb,${iccid},${AT},1,2,60,,\n`

    const answers = [
      await send({ records: [record] }),
      await send(lines([record, { ...record, recordId: 'c' }]), { 'content-type': 'application/x-ndjson' }),
      await send(csv, { 'content-type': 'text/csv' }),
      await send(gzipSync(csv), { 'content-type': 'text/csv; charset=utf-8', 'content-encoding': 'gzip' }),
    ]

    expect(answers.map(({ status, body }) => [status, body.accepted, body.duplicates, body.rejectedCount])).toEqual([
      [200, 1, 0, 0],
      [200, 1, 1, 0],
      [200, 1, 0, 0],
      [200, 0, 1, 0],
    ])
    const sim = await harness.tenant.ask('GET', `/api/sims/${simId}`)
    expect(sim.body).toMatchObject({ usageMB: 0.000603, smsCount: 2, voiceMins: 1 })
  })

  test.each([
    ['no body', undefined, {}],
    ['no JSON', 'nothing', { 'content-type': 'application/json' }],
    ['JSON without records', '{}', { 'content-type': 'application/json' }],
    ['a column that is not known', 'recordId,bytes\na,1', { 'content-type': 'text/csv' }],
    ['a broken gzip', 'x', { 'content-type': 'text/csv', 'content-encoding': 'gzip' }],
  ])('refuses %s', async (_, body, headers) => {
    expect(await send(body, headers)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

describe('usage deliveries', () => {
  const list = async () => (await harness.tenant.inside('GET', '/internal/usage-deliveries')).body
  const one = (id: number) => harness.tenant.inside('GET', `/internal/usage-deliveries/${id}`)
  const keyId = () => harness.operatorKey.split('_')[1]
  const recordsOf = async (simId: number) =>
    (await sql`select record_id, delivery_id from usage_records where sim_id = ${simId}`.execute(harness.root)).rows

  test('record sender, time, body and outcome', async () => {
    const { id: simId, iccid } = await aSim(harness.tenant)
    const record = { recordId: 'delivered', iccid, at: AT, bytesUp: 1 }
    const body = gzipSync(lines([record, record, { ...record, recordId: 'bad', bytesUp: -1 }]))
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip', 'x-request-id': 'delivery-1' }

    const answer = await send(body, headers)

    const { deliveryId } = answer.body
    const delivery = {
      id: deliveryId,
      beganAt: expect.stringMatching(/^2026-11-20T12:/),
      endedAt: expect.stringMatching(/^2026-11-20T12:/),
      actor: `key:${keyId()}`,
      actorName: 'tests',
      keyId: keyId(),
      requestId: 'delivery-1',
      outcome: 'complete',
      accepted: 1,
      duplicates: 1,
      rejected: 1,
      bytes: body.length,
      sha256: createHash('sha256').update(body).digest('hex'),
    }
    expect((await one(deliveryId)).body).toEqual(delivery)
    expect((await list()).data[0]).toEqual(delivery)
    expect(await recordsOf(simId)).toEqual([{ record_id: 'delivered', delivery_id: deliveryId }])
  })

  test('record what they counted before breaking off', async () => {
    const { id: simId, iccid } = await aSim(harness.tenant)
    const records = Array.from({ length: 1500 }, (_, n) => ({ recordId: `broken-${n}`, iccid, at: AT, bytesUp: 1 }))
    const whole = gzipSync(lines(records))

    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
    const answer = await send(whole.subarray(0, whole.length - 20), headers)

    expect(answer.status).toBe(400)
    const accepted = (await recordsOf(simId)).length
    expect(accepted).toBeGreaterThan(0)
    expect((await list()).data[0]).toMatchObject({ outcome: 'broken', accepted, bytes: whole.length - 20 })
  })

  test('keep records with the first delivery', async () => {
    const { id: simId, iccid } = await aSim(harness.tenant)
    const body = { records: [{ recordId: 'again', iccid, at: AT, bytesUp: 1 }] }

    const [first, second] = [await send(body), await send(body)]

    expect(second.body.deliveryId).toBeGreaterThan(first.body.deliveryId)
    expect((await one(second.body.deliveryId)).body).toMatchObject({ accepted: 0, duplicates: 1 })
    expect(await recordsOf(simId)).toEqual([{ record_id: 'again', delivery_id: first.body.deliveryId }])
  })
})
