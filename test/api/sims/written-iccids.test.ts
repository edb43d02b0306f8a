/** ICCIDs as people, modems and carriers write them: with filler, with and without their check digit, in groups. */
import { describe, expect, test } from 'vitest'
import { checkDigit } from '../../../domain/identifiers.ts'
import { aPool, aSim, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const CSV = { 'content-type': 'text/csv' }
const NDJSON = { 'content-type': 'application/x-ndjson' }
let serial = 0
/** 18 digits, without a check digit. */
const cut = () => `8944922${String(++serial).padStart(11, '0')}`
const csvOf = (record: object) => `${Object.keys(record).join()}\n${Object.values(record).join()}\n`
const inside = (...call: Parameters<typeof harness.tenant.inside>) => harness.tenant.inside(...call)
const ask = (url: string) => harness.tenant.ask('GET', url)

describe('the filler of an ICCID is taken off', () => {
  test.each([
    ['JSON', (iccid: string) => inside('POST', '/internal/sims', { sims: [{ iccid }] })],
    ['NDJSON', (iccid: string) => inside('POST', '/internal/sims', JSON.stringify({ iccid }), NDJSON)],
    ['CSV', (iccid: string) => inside('POST', '/internal/sims', `iccid\n${iccid}\n`, CSV)],
  ])('by an import of %s', async (_, send) => {
    const [one, two] = [cut(), `${cut()}1`]

    const answers = [await send(`${one}FF`), await send(`${two}f`)]

    expect(answers.map(({ body }) => [body.created[0]?.iccid, body.rejected])).toEqual([
      [one, []],
      [two, []],
    ])
  })

  test.each([
    ['JSON', (record: object) => inside('POST', '/internal/usage', { records: [record] })],
    ['NDJSON', (record: object) => inside('POST', '/internal/usage', JSON.stringify(record), NDJSON)],
    ['CSV', (record: object) => inside('POST', '/internal/usage', csvOf(record), CSV)],
  ])('by usage in %s', async (_, send) => {
    const { iccid } = await aSim(harness.tenant)
    const at = new Date(harness.now - 60_000).toISOString()

    const { body } = await send({ recordId: `filler ${++serial}`, iccid: `${iccid}F`, at, bytesUp: 1 })

    expect(body).toMatchObject({ accepted: 1, rejected: [] })
  })

  test('by bulk tickets', async () => {
    const { id, iccid } = await aSim(harness.tenant)
    await provisioned(harness, harness.tenant, id, {})
    const path = '/internal/bulk-tickets?type=activate&dryRun=true'
    const bodies = [
      { iccids: [`${iccid}F`] },
      { rows: [{ iccid: `${iccid}f` }] },
      { rows: [{ iccid: `${iccid}F`, simId: id }] },
      { filter: { search: `${iccid}F` } },
    ]

    const answers = [await inside('POST', path, `iccid\n${iccid}F\n`, CSV)]
    for (const sims of bodies) answers.push(await inside('POST', path, { type: 'activate', sims, dryRun: true }))

    expect(answers.map(({ body }) => body.touched?.sims)).toEqual(Array(5).fill([{ index: 0, simId: id, iccid }]))
  })

  test('by provision in bulk', async () => {
    const [one, two] = [await aSim(harness.tenant), await aSim(harness.tenant)]
    const poolId = await aPool(harness.tenant)
    const path = `/internal/workflows/provision-in-bulk`

    const answers = [
      await inside('POST', path, { sims: [{ iccid: `${one.iccid}F`, poolId }] }),
      await inside('POST', `${path}?poolId=${poolId}`, `iccid\n${two.iccid}F\n`, CSV),
    ]

    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: { refused: 0 } })
  })

  test('by the start of a workflow', async () => {
    const iccid = cut()

    const { body } = await inside('POST', '/internal/workflows/provision-and-activate', { iccid: `${iccid}FF` })

    expect(body).toMatchObject({ code: 'sim_not_found', detail: `There is no SIM ${iccid}.` })
  })

  test('by orders', async () => {
    const order = async (type: number) => {
      const { body } = await harness.tenant.ask('POST', '/api/orders', { type, quantity: 1, shippingLine1: 'A' })
      await inside('POST', `/internal/orders/${body.id}/process`)
      return `/internal/orders/${body.id}`
    }
    const parcel = { shippingCarrier: 'Post', trackingNumber: '1' }
    const [one, two, three, four] = [cut(), cut(), cut(), cut()]

    const orders = [await order(1), await order(1), await order(1), await order(2)]
    const steps = [
      await inside('POST', `${orders[0]}/ship`, { ...parcel, iccids: [`${one}FF`] }),
      await inside('POST', `${orders[1]}/ship`, { ...parcel, sims: [{ iccid: `${two}FF` }] }),
      await inside('POST', `${orders[2]}/ship?shippingCarrier=Post&trackingNumber=1`, `iccid\n${three}FF\n`, CSV),
      await inside('POST', `${orders[3]}/complete`, { iccids: [`${four}FF`] }),
    ]

    expect(steps.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const sims = await Promise.all(orders.map((path) => inside('GET', `${path}/sims`)))
    expect(sims.map(({ body }) => body.data[0].iccid)).toEqual([one, two, three, four])
  })

  test('in paths', async () => {
    const { id, iccid } = await aSim(harness.tenant)

    expect((await ask(`/api/sims/${iccid}F`)).body).toMatchObject({ id, iccid })
    expect((await ask(`/api/sims/${id}F`)).status).toBe(404)
  })
})

describe('one card', () => {
  const why = (iccid: string) => `${iccid}${checkDigit(iccid)} is ${iccid} with its check digit`

  test.each([
    ['first', (iccid: string) => [iccid + checkDigit(iccid), iccid]],
    ['second', (iccid: string) => [iccid, iccid + checkDigit(iccid)]],
  ])('is imported once, whether the check digit is in the %s record of a file or not', async (_, forms) => {
    const iccid = cut()
    const [first, second] = forms(iccid)

    const sims = [first, second].map((one) => ({ iccid: one }))
    const json = await inside('POST', '/internal/sims?dryRun=true', { sims })
    const { body } = await inside('POST', '/internal/sims', `iccid\n${first}\n${second}F\n`, CSV)

    expect(json.body).toMatchObject({ created: [{ iccid: first }], rejected: [{ index: 1, code: 'sim_exists' }] })
    expect(body.created.map((one: { iccid: string }) => one.iccid)).toEqual([first])
    expect(body.rejected).toEqual([
      { index: 1, code: 'sim_exists', detail: `line 3: the same card as record 0, in line 2: ${why(iccid)}` },
    ])
  })

  test('is rejected where a SIM exists with or without its check digit', async () => {
    const [short, long, theirs] = [cut(), cut(), cut()]
    const there = [{ iccid: short }, { iccid: long + checkDigit(long) }]
    const made = await inside('POST', '/internal/sims', { sims: there })
    await harness.other.inside('POST', '/internal/sims', { sims: [{ iccid: theirs }] })
    const again = [short + checkDigit(short), long, theirs + checkDigit(theirs)]
    const sims = again.map((iccid) => ({ iccid }))

    const answers = [
      await inside('POST', '/internal/sims?dryRun=true', { sims }),
      await inside('POST', '/internal/sims', { sims }),
    ]

    const ids = made.body.created.map(({ id }: { id: number }) => id)
    for (const { body } of answers) {
      expect(body.created).toEqual([])
      expect(body.rejected).toEqual([
        { index: 0, code: 'sim_exists', detail: `ICCID ${again[0]} is the card of SIM ${ids[0]}: ${why(short)}` },
        { index: 1, code: 'sim_exists', detail: `ICCID ${again[1]} is the card of SIM ${ids[1]}: ${why(long)}` },
        { index: 2, code: 'sim_exists', detail: `ICCID ${again[2]} is the card of another SIM: ${why(theirs)}` },
      ])
    }
  })

  test.each([
    [1, 'ship', { shippingCarrier: 'Post', trackingNumber: '1' }],
    [2, 'complete', {}],
  ])('comes once with an order of type %i', async (type, step, more) => {
    const placed = await harness.tenant.ask('POST', '/api/orders', { type, quantity: 2, shippingLine1: 'A' })
    const path = `/internal/orders/${placed.body.id}`
    await inside('POST', `${path}/process`)
    const [iccid, other] = [cut(), cut()]
    const known = await aSim(harness.tenant, { iccid: cut() })
    const whole = iccid + checkDigit(iccid)

    const twice = await inside('POST', `${path}/${step}`, { ...more, iccids: [iccid, whole] })
    const there = known.iccid + checkDigit(known.iccid)
    const exists = await inside('POST', `${path}/${step}`, { ...more, iccids: [other, there] })

    expect(twice.body).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/iccids/1', detail: `is the same card as /iccids/0: ${why(iccid)}` }],
    })
    expect(exists.body).toMatchObject({
      code: 'sim_exists',
      errors: [{ pointer: '/iccids/1', detail: `ICCID ${there} is the card of SIM ${known.id}: ${why(known.iccid)}` }],
    })
    expect((await ask(`/api/sims/${other}`)).status).toBe(404)
  })

  test('is another if its last digit is no check digit', async () => {
    const iccid = cut()
    const wrong = (Number(checkDigit(iccid)) + 1) % 10

    const { body } = await inside('POST', '/internal/sims', { sims: [{ iccid }, { iccid: `${iccid}${wrong}` }] })

    expect(body.created).toHaveLength(2)
  })
})

test('a search finds SIMs, orders, events and log entries as they are written', async () => {
  const found = async (path: string, term: string) => (await ask(`${path}=${encodeURIComponent(term)}`)).body.data
  const { id, iccid } = await aSim(harness.tenant)
  const placed = await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 1, shippingLine1: 'A' })
  const path = `/internal/orders/${placed.body.id}`
  await inside('POST', `${path}/process`)
  const parcel = { shippingCarrier: 'Heron Post', trackingNumber: '00340434161094042557' }
  await inside('POST', `${path}/ship`, { ...parcel, iccids: [cut()] })

  expect(await found('/api/sims?search', ` ${iccid.replaceAll(/(.{4})/g, '$1-')}F `)).toMatchObject([{ id }])
  expect(await found('/api/orders?search', ' 0034 0434 1610 9404 2557 ')).toMatchObject([{ id: placed.body.id }])
  expect(await found('/api/orders?search', ' heron post ')).toMatchObject([{ id: placed.body.id }])
  expect(await found('/api/events?searchTerm', ` Order ${placed.body.id} was shipped `)).toHaveLength(1)
})
