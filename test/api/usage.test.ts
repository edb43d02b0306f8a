import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { useHouse } from './house.ts'

const house = useHouse()
const AT = '2026-11-20T10:00:00Z'
const ICCID = '8944500000000000017'

async function aSim(iccid: string) {
  const { body } = await house.tenant.inside('POST', '/internal/sims', { sims: [{ iccid }] })
  return body.created[0]?.id as number
}
const send = (body: unknown, headers = {}) => house.tenant.inside('POST', '/internal/usage', body, headers)
const lines = (records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')

describe('POST /internal/usage', () => {
  test('takes JSON, NDJSON and CSV, plain and gzipped, and counts each record once', async () => {
    const simId = await aSim(ICCID)
    const record = { recordId: 'a', iccid: ICCID, at: AT, bytesUp: 100, bytesDown: 200, smsCount: 1 }
    const csv = `recordId,iccid,at,bytesUp,bytesDown,voiceSeconds,smsCount,imei\nb,${ICCID},${AT},1,2,60,,\n`

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
    const sim = await house.tenant.ask('GET', `/api/sims/${simId}`)
    expect(sim.body).toMatchObject({ usageMB: 0.000603, smsCount: 2, voiceMins: 1 })
  })

  test('rejects bad records by their place, and counts the rest', async () => {
    const iccid = '8944500000000000025'
    await aSim(iccid)
    const good = { recordId: 'd', iccid, at: AT, bytesUp: 1 }
    const body = lines([good, { ...good, recordId: 'e', bytesUp: '1' }, { ...good, recordId: 'f', at: 'yesterday' }])

    const answer = await send(`${body}\nno json\n`, { 'content-type': 'application/x-ndjson' })

    expect(answer.body).toMatchObject({ accepted: 1, rejectedCount: 3 })
    expect(answer.body.rejected.map(({ index, code }: { index: number; code: string }) => [index, code])).toEqual([
      [1, 'invalid_record'],
      [2, 'invalid_record'],
      [3, 'invalid_record'],
    ])
    expect(answer.body.rejected[0].detail).toContain('bytesUp')
  })

  test.each([
    ['no JSON', 'nothing', { 'content-type': 'application/json' }, 400, 'invalid_request'],
    ['JSON without records', '{}', { 'content-type': 'application/json' }, 400, 'invalid_request'],
    ['a column that is not known', 'recordId,bytes\na,1', { 'content-type': 'text/csv' }, 400, 'invalid_request'],
    ['another type', 'x', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['another encoding', 'x', { 'content-type': 'text/csv', 'content-encoding': 'br' }, 415, 'unsupported_media_type'],
    ['a broken gzip', 'x', { 'content-type': 'text/csv', 'content-encoding': 'gzip' }, 400, 'invalid_request'],
  ])('refuses %s', async (_, body, headers, status, code) => {
    const answer = await send(body, headers)

    expect([answer.status, answer.body.code]).toEqual([status, code])
  })
})
