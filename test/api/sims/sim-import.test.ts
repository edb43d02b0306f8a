import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { iccidOf, imeiOf } from '../../../domain/identifiers.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()
let serial = 0
/** An ICCID with its check digit that no other test has. */
const anIccid = () => iccidOf(`894911${String(++serial).padStart(12, '0')}`)
const IMEI = imeiOf('35693803564380')

const CSV = { 'content-type': 'text/csv' }
const sendJson = (sims: readonly unknown[], query = '') =>
  harness.tenant.inside('POST', `/internal/sims${query}`, { sims })
const sendCsv = (csv: string | Buffer, query = '') => harness.tenant.inside('POST', `/internal/sims${query}`, csv, CSV)
const details = (body: { rejected: { detail: string }[] }) => body.rejected.map(({ detail }) => detail)
const count = async () => (await sql`select from sims`.execute(harness.root)).rows.length

describe('POST /internal/sims?dryRun=true', () => {
  test('predicts the import and writes nothing', async () => {
    const [known, theirs, fresh, mistyped, twice] = [anIccid(), anIccid(), anIccid(), `${anIccid()}0`, anIccid()]
    await sendJson([{ iccid: known }])
    await harness.other.inside('POST', '/internal/sims', { sims: [{ iccid: theirs }] })
    const sims = [
      { iccid: fresh, tag: 'A' },
      { iccid: known },
      { iccid: theirs },
      { iccid: mistyped },
      { iccid: '12' },
      { iccid: twice },
      { iccid: twice },
      7,
    ]
    const before = await count()

    const dry = await sendJson(sims, '?dryRun=true')
    const between = await count()
    const run = await sendJson(sims)

    expect(between).toBe(before)
    const { dryRun, ...promised } = dry.body
    const created = run.body.created.map(({ iccid }: { iccid: string }) => ({ iccid }))
    expect([dry.status, dryRun]).toEqual([200, true])
    expect(promised).toEqual({ ...run.body, created })
    expect(created.map(({ iccid }: { iccid: string }) => iccid)).toEqual([fresh, mistyped, twice])
    expect(run.body.rejected.map(({ index }: { index: number }) => index)).toEqual([1, 2, 4, 6, 7])
    expect(run.body.warningCount).toBe(1)
  })

  test('leaves the Idempotency-Key to the real import', async () => {
    const body = { sims: [{ iccid: anIccid() }] }
    const once = { 'idempotency-key': 'import-1' }

    const dry = await harness.tenant.inside('POST', '/internal/sims?dryRun=true', body, once)
    const run = await harness.tenant.inside('POST', '/internal/sims?dryRun=false', body, once)

    expect(dry.body.created).toHaveLength(1)
    expect(run).toMatchObject({ status: 200, body: { created: [{ id: expect.any(Number) }] } })
  })
})

test('an imported SIM starts with an audit entry', async () => {
  const [known, fresh] = [anIccid(), anIccid()]
  await sendJson([{ iccid: known }])

  const { headers, body } = await sendJson([{ iccid: known }, { iccid: fresh, tag: 'A' }])
  const trail = await harness.tenant.inside('GET', `/internal/audit?requestId=${headers['x-request-id']}`)

  expect(trail.body.data).toMatchObject([
    { action: 'importSims', subject: 'sim', subjectId: String(body.created[0].id), before: null, after: { tag: 'A' } },
  ])
})

describe('a rejected record', () => {
  const ROUNDED = 'which is a number a spreadsheet has rounded: format the column as text and export again'
  const AS_TEXT = 'send it as text, in quotes'
  const LOST = `which has lost digits: a JSON number keeps about 16: ${AS_TEXT}`
  const MSISDN = 'at most 15 digits, with or without a + before them'
  const iccid = anIccid()
  test.each([
    [{ iccid: '8.94E+18' }, `iccid: got "8.94E+18", ${ROUNDED}; expected 18 to 22 digits`],
    [{ iccid: '8944500' }, 'iccid: got "8944500", 7 digits; expected 18 to 22 digits'],
    [{ iccid: 8.9445001021983e18 }, `iccid: got the number 8944500102198300000, ${LOST}; expected 18 to 22 digits`],
    [{}, 'iccid: is missing; expected 18 to 22 digits'],
    [{ iccid, imsi: 262015550001 }, `imsi: got the number 262015550001: ${AS_TEXT}; expected at most 15 digits`],
    [{ iccid, msisdn: '4,91702E+11' }, `msisdn: got "4,91702E+11", ${ROUNDED}; expected ${MSISDN}`],
    [{ iccid, imei: '3.56938E+14' }, `imei: got "3.56938E+14", ${ROUNDED}; expected 14 to 16 digits`],
    [{ iccid, type: 'eSIM' }, 'type: got "eSIM"; expected 0 (Physical SIM) or 1 (eSIM)'],
    [
      { iccid, isWatchdogExempt: 'WAHR', warningThresholdPct: 0 },
      'warningThresholdPct: got 0; expected a whole number from 1 to 100. isWatchdogExempt: got "WAHR"; expected true or false',
    ],
    [
      { iccid, tags: 'A' },
      'no field of a SIM: "tags": did you mean tag?; expected some of iccid, imsi, msisdn, imei, type, esimQrPayload, tag, watchdogMode, warningThresholdPct, enableBurnRateAlerts, isWatchdogExempt, status, poolId, tariffId, activatedAt, usageBytes, voiceSeconds, smsCount, or ignoreUnknown=true to pass it over',
    ],
    ['8944', 'got "8944"; expected an object with an iccid'],
    [null, 'got null; expected an object with an iccid'],
  ])('%j says what to do', async (record, detail) => {
    const { body } = await sendJson([record])

    expect(details(body)).toEqual([detail])
  })

  test('shows a bounded part of its value', async () => {
    const { body } = await sendJson([{ iccid: 'x'.repeat(10_000) }])

    expect(body.rejected[0].detail.length).toBeLessThan(200)
  })
})

describe('warnings', () => {
  test('name wrong check digits and rounded numbers', async () => {
    const good = anIccid()
    const wrong = `${good.slice(0, -1)}${(Number(good.at(-1)) + 1) % 10}`
    const rounded = '8944500102198300000'

    const { body } = await sendJson([
      { iccid: good, imei: IMEI },
      { iccid: wrong },
      { iccid: rounded },
      { iccid: anIccid(), imei: `${IMEI.slice(0, -1)}${(Number(IMEI.at(-1)) + 1) % 10}` },
      { iccid: '894450010219830482' },
    ])

    expect(body.rejected).toEqual([])
    expect(body.created).toHaveLength(5)
    expect(body.warnings.map(({ index, field }: { index: number; field: string }) => [index, field])).toEqual([
      [1, 'iccid'],
      [2, 'iccid'],
      [3, 'imei'],
    ])
    expect(body.warnings[0].detail).toContain(`but ${good.at(-1)} is the check digit`)
    expect(body.warnings[1].detail).toContain('only zeros from its 16th digit on')
  })

  test('list the first 1,000 and count all', async () => {
    const sims = Array.from({ length: 1200 }, (_, at) => ({ iccid: `8944500102${String(at * 10).padStart(10, '0')}1` }))

    const { body } = await sendJson(sims, '?dryRun=true')

    expect(body.warnings).toHaveLength(1000)
    expect(body.warningCount).toBeGreaterThan(1000)
    expect(body.created).toHaveLength(1200)
  })
})

describe('CSV', () => {
  const imported = async (csv: string | Buffer) => {
    const { status, body } = await sendCsv(csv)
    expect([status, body.rejected]).toEqual([200, []])
    const ids: number[] = body.created.map(({ id }: { id: number }) => id)
    return Promise.all(ids.map(async (id) => (await harness.tenant.ask('GET', `/api/sims/${id}`)).body))
  }

  test('is read as a German Excel writes it', async () => {
    const [a, b] = [anIccid(), anIccid()]
    const names = 'ICCID;Tag;IMEI;isWatchdogExempt;type;warningThresholdPct;'
    const csv = `\uFEFFsep=;\r\n${names}\r\n${a};"Zähler; Nord";${IMEI};1;1;75;\r\n;;;;;;\r\n${b};;;;;;\r\n`

    const sims = await imported(csv)

    expect(sims).toMatchObject([
      { iccid: a, tag: 'Zähler; Nord', imei: IMEI, isWatchdogExempt: true, type: 1, warningThresholdPct: 75 },
      { iccid: b, tag: '', imei: '', type: 0, warningThresholdPct: null },
    ])
  })

  test('is read with a row that ends early', async () => {
    const iccid = anIccid()

    expect(await imported(`iccid,tag,imsi\n${iccid}\n`)).toMatchObject([{ iccid, tag: '' }])
  })

  test('names the line of each rejected row', async () => {
    const [a, b, c] = [anIccid(), anIccid(), anIccid()]
    const csv = `iccid;tag\n${a};"two\nlines"\n\n8,94E+18;x\n${b};one;two\n${c};A\n${c};again\n`

    const { body } = await sendCsv(csv)

    expect(body.rejected.map(({ index, code }: { index: number; code: string }) => [index, code])).toEqual([
      [0, 'invalid_request'],
      [1, 'invalid_request'],
      [2, 'invalid_request'],
      [4, 'sim_exists'],
    ])
    const [broken, rounded, long, again] = details(body)
    expect(broken).toMatch(/^line 2: tag: got "two\\nlines"/)
    expect(rounded).toMatch(/^line 5: iccid: got "8,94E\+18", which is a number a spreadsheet has rounded/)
    expect(long).toBe(
      'line 6: got a value in cell 3, "two"; expected 2 cells: text with the separator in it needs quotes',
    )
    expect(again).toBe(`line 8: the same ICCID as record 3, in line 7: ${c}`)
  })

  test.each([
    ['nothing', '', 'The file names no SIM: expected a record for each'],
    ['a line of columns alone', 'iccid\n', 'The file names no SIM: expected a record for each'],
    ['an open quote', 'iccid,tag\n"open', 'Quote Not Closed'],
    ['Windows-1252', Buffer.from('iccid,tag\n1,a\n2,Zähler\n', 'latin1'), 'not UTF-8, line 3 is the first that is not'],
  ])('is refused with %s', async (_, csv, why) => {
    const answer = await sendCsv(csv)

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(answer.body.detail).toContain(why)
  })
})

test('NDJSON names the line of invalid JSON', async () => {
  const iccid = anIccid()
  const headers = { 'content-type': 'application/x-ndjson' }
  const file = `{"iccid":"${iccid}"}\n\n{"iccid":\n`
  const { body } = await harness.tenant.inside('POST', '/internal/sims', file, headers)

  expect(body.created).toMatchObject([{ iccid }])
  expect(details(body)).toEqual([expect.stringMatching(/^line 3: is no JSON: /)])
})
