import { describe, expect, test } from 'vitest'
import { buildPublic } from '../../api/server.ts'
import { connect } from '../../store/connect.ts'
import { aPool, aSim, asking, aTariff, useHouse } from './house.ts'

const house = useHouse()
const NOBODY = '11111111-1111-4111-8111-111111111111'

describe('bodies', () => {
  test.each([
    ['an integer as text', { watchdogMode: '2' }, '/watchdogMode'],
    ['a code that is none', { watchdogMode: 7 }, '/watchdogMode'],
    ['a threshold of 0', { warningThresholdPct: 0 }, '/warningThresholdPct'],
    ['a threshold of 101', { warningThresholdPct: 101 }, '/warningThresholdPct'],
    ['a truth as text', { enableBurnRateAlerts: 'true' }, '/enableBurnRateAlerts'],
    ['a field that is none', { colour: 'red' }, '/colour'],
    ['an empty name', { name: '' }, '/name'],
    ['a name of 51 characters', { name: 'x'.repeat(51) }, '/name'],
    ['a required field as null', { tariffId: null }, '/tariffId'],
  ])('%s is refused, and the answer says where', async (_what, wrong, pointer) => {
    const tariffId = await aTariff(house.tenant)

    const answer = await house.tenant.ask('POST', '/api/pools', { type: 0, tariffId, watchdogMode: 1, ...wrong })

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
    expect(answer.body.errors).toHaveLength(1)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  })

  test('null counts as omitted for optional fields', async () => {
    const tariffId = await aTariff(house.tenant)

    const nothing = { name: null, warningThresholdPct: null, enableBurnRateAlerts: null }
    const made = await house.tenant.ask('POST', '/api/pools', { type: 0, tariffId, watchdogMode: 1, ...nothing })
    const pool = await house.tenant.ask('GET', `/api/pools/${made.body.id}`)

    expect(made.status).toBe(200)
    expect(pool.body).toMatchObject({
      name: `Pool ${made.body.id}`,
      warningThresholdPct: null,
      enableBurnRateAlerts: null,
    })
  })

  test('all faults are told at once', async () => {
    const { body } = await house.tenant.ask('POST', '/api/pools', { type: 9 })

    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/tariffId',
      '/type',
      '/watchdogMode',
    ])
  })

  test('a problem has exactly its fields', async () => {
    const { body } = await house.tenant.ask('GET', '/api/pools/4711', undefined, { 'x-request-id': 'my-request' })

    expect(body).toEqual({
      type: '/problems/pool_not_found',
      title: 'There is no such pool',
      status: 404,
      detail: 'There is no pool 4711.',
      instance: '/api/pools/4711',
      code: 'pool_not_found',
      requestId: 'my-request',
    })
  })

  test.each([
    ['broken JSON', '{"type":', 'application/json', 400, 'invalid_request'],
    ['no body at all', '', 'application/json', 400, 'invalid_request'],
    ['another content type', '<pool/>', 'application/xml', 415, 'unsupported_media_type'],
    ['a form', 'type=0', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['plain text', '{}', 'text/plain', 415, 'unsupported_media_type'],
    ['more than the path takes', `{"name":"${'x'.repeat(1_100_000)}"}`, 'application/json', 413, 'payload_too_large'],
    ['a prototype', '{"__proto__":{"type":0}}', 'application/json', 400, 'invalid_request'],
  ])('%s: %i', async (_what, body, type, status, code) => {
    const answer = await house.tenant.ask('POST', '/api/pools', body, { 'content-type': type })

    expect(answer).toMatchObject({ status, body: { code, status } })
  })

  test.each(['a\u0000b', '\ud800'])('text that cannot be stored is refused: %j', async (tag) => {
    const { id } = await aSim(house.tenant)

    const answer = await house.tenant.ask('PATCH', `/api/sims/${id}/tag`, JSON.stringify({ tag }), {
      'content-type': 'application/json',
    })

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test.each([undefined, '', '{}', 'null', ' { } '])(
    'a call without a body takes %j under any content type',
    async (body) => {
      const { id } = await aSim(house.tenant)

      const answer = await house.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`, body, {
        'content-type': 'application/xml',
      })

      expect(answer).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
    },
  )

  test('a call without a body refuses one', async () => {
    const { id } = await aSim(house.tenant)

    const answer = await house.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`, { now: true })

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

describe('paths and methods', () => {
  test.each([
    ['/api', 'not_found'],
    ['/api/nothing', 'not_found'],
    ['/problems/toString', 'not_found'],
    ['/api/order', 'not_found'],
    ['/api/orders/4711', 'order_not_found'],
    ['/api/pools/99999999999', 'pool_not_found'],
    ['/api/tariffs/99999999999', 'tariff_not_found'],
    ['/api/sims/4711', 'sim_not_found'],
    ['/api/sims/98765432109876543', 'sim_not_found'],
    ['/api/sims/8944500102198304826', 'sim_not_found'],
    ['/api/sims/12345678901234567890123', 'sim_not_found'],
    ['/api/sims/abc', 'sim_not_found'],
    ['/api/sims/4711/watchdog-logs', 'sim_not_found'],
    ['/api/pools/4711/sims', 'pool_not_found'],
    ['/api/pools/4711/watchdog-logs', 'pool_not_found'],
    [`/api/tickets/${NOBODY}`, 'ticket_not_found'],
    ['/api/tickets/not-a-uuid', 'ticket_not_found'],
  ])('%s is 404 %s', async (url, code) => {
    const answer = await house.tenant.ask('GET', url)

    expect(answer).toMatchObject({ status: 404, body: { code } })
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  })

  test.each([
    ['PUT', '/api/pools', 'GET, HEAD, POST'],
    ['DELETE', '/api/sims', 'GET, HEAD'],
    ['POST', '/api/sims/metadata', 'GET, HEAD'],
    ['TRACE', '/api/tenant', 'GET, HEAD'],
    ['OPTIONS', '/api/events', 'GET, HEAD'],
    ['PATCH', '/api/tickets/activate', 'POST'],
    ['GET', '/api/sims/7/tag', 'PATCH'],
  ])('%s %s is 405 and names what is allowed', async (method, url, allow) => {
    const answer = await house.tenant.ask(method, url)

    expect(answer).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } })
    expect(answer.headers.allow).toBe(allow)
  })

  test('an address that cannot be decoded is 400', async () => {
    const answer = await house.tenant.ask('GET', '/api/sims/%zz')

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test.each([
    ['/api/pools?pageSize=0', 'pageSize'],
    ['/api/pools?pageSize=101', 'pageSize'],
    ['/api/pools?page=0', 'page'],
    ['/api/pools?page=x', 'page'],
    ['/api/pools?page=1e300', 'page'],
    ['/api/sims?status=9', 'status'],
    ['/api/sims?search=a%00b', undefined],
    ['/api/watchdog/logs?level=3', 'level'],
    ['/api/watchdog/logs?date=yesterday', 'date'],
    ['/api/watchdog/logs?date=2026-02-30', 'date'],
    ['/api/events?type=1&type=2', 'type'],
    ['/api/pools/abc', 'id'],
  ])('%s is 400 and names the parameter', async (url, parameter) => {
    const answer = await house.tenant.ask('GET', url)

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(answer.body.errors?.[0]?.parameter).toBe(parameter)
  })

  test('a failure inside shows neither SQL nor stack, and its id is in the header', async () => {
    const broken = house.ground.clock
    Object.assign(house.ground, {
      clock: () => {
        throw new Error('select secret from api_keys')
      },
    })
    const answer = await house.tenant.ask('GET', '/api/pools', undefined, { 'x-request-id': 'bad id with spaces' })
    Object.assign(house.ground, { clock: broken })

    expect(answer).toMatchObject({ status: 500, body: { code: 'internal_error' } })
    expect(JSON.stringify(answer.body)).not.toMatch(/select|\.ts|at /)
    expect(answer.headers['x-request-id']).toBe(answer.body.requestId)
    expect(answer.body.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a database that is away', () => {
  test('is 503 with Retry-After', async () => {
    const { db, close } = connect('postgres://nobody@127.0.0.1:1/none')
    const app = await buildPublic({ ground: { ...house.ground, db } })

    const answer = await asking(app, { authorization: `Bearer ${house.tenant.key}` })('GET', '/api/pools')
    await app.close()
    await close()

    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(answer.headers['retry-after']).toBe('5')
  })
})

describe('pools and tariffs', () => {
  test.each([
    [0, 0, 200],
    [0, 2, 200],
    [1, 1, 200],
    [0, 1, 422],
    [1, 0, 422],
    [1, 2, 422],
  ] as const)('a pool of type %i with a tariff of type %i: %i', async (type, tariffType, status) => {
    const tariffId = await aTariff(house.tenant, tariffType)

    const answer = await house.tenant.ask('POST', '/api/pools', { type, tariffId, watchdogMode: 0 })

    expect(answer.status).toBe(status)
    if (status === 422) expect(answer.body.code).toBe('tariff_pool_mismatch')
  })

  test('a tariff nobody has is 404', async () => {
    const answer = await house.tenant.ask('POST', '/api/pools', { type: 0, tariffId: 2 ** 40, watchdogMode: 0 })

    expect(answer).toMatchObject({ status: 404, body: { code: 'tariff_not_found' } })
  })

  test.each([
    ['neither bytes nor GB', {}, 400, 'invalid_request'],
    ['bytes and GB that differ', { baseTariffBytes: 1_000_000_001, baseTariffGb: 1 }, 422, 'tariff_units_disagree'],
    ['bytes and GB alike', { baseTariffBytes: 1_500_000_000, baseTariffGb: 1.5 }, 201, undefined],
  ])('a tariff with %s: %i', async (_what, data, status, code) => {
    const standardTariff = { ...data, simMonthlyFee: 1, smsFee: 0, voiceFee: 0, overageFeePerGb: 1 }

    const answer = await house.tenant.inside('POST', '/internal/tariffs', { displayName: 'T', type: 0, standardTariff })

    expect(answer.status).toBe(status)
    expect(answer.body.code).toBe(code)
  })

  test('a tariff without the block of its type is refused', async () => {
    const fixedPoolTariff = {
      fixedCapacityGb: 1,
      fixedBucketCost: 1,
      simMonthlyFee: 1,
      smsFee: 0,
      voiceFee: 0,
      overageFeePerGb: 1,
    }

    const answer = await house.tenant.inside('POST', '/internal/tariffs', {
      displayName: 'T',
      type: 0,
      fixedPoolTariff,
    })

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/fixedPoolTariff' }] } })
  })
})

describe("other tenants' ids", () => {
  test('are not there', async () => {
    const poolId = await aPool(house.other)
    const tariffId = await aTariff(house.other)
    const { id, iccid } = await aSim(house.other)
    const ticket = await house.other.ask('POST', '/api/tickets/provision', { simId: id })
    const { ask, inside } = house.tenant

    const answers = [
      await ask('GET', `/api/pools/${poolId}`),
      await ask('GET', `/api/pools/${poolId}/sims`),
      await ask('GET', `/api/pools/${poolId}/watchdog-logs`),
      await ask('GET', `/api/tariffs/${tariffId}`),
      await ask('POST', '/api/pools', { type: 0, tariffId, watchdogMode: 0 }),
      await ask('GET', `/api/sims/${id}`),
      await ask('GET', `/api/sims/${iccid}`),
      await ask('GET', `/api/sims/${id}/watchdog-logs`),
      await ask('PATCH', `/api/sims/${id}/tag`, { tag: 'mine' }),
      await ask('POST', `/api/sims/${id}/queue-unprovision`),
      await ask('POST', `/api/sims/${id}/queue-reprovision`, {}),
      await ask('POST', '/api/tickets/provision', { simId: id }),
      await ask('GET', `/api/tickets/${ticket.body.id}`),
      await ask('DELETE', `/api/tickets/${ticket.body.id}`),
      await inside('PATCH', `/internal/sims/${id}/watchdog`, { watchdogMode: 0 }),
      await inside('GET', `/internal/tickets/${ticket.body.id}`),
    ]

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  })
})
