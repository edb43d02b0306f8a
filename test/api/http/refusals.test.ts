/** Requests refused for their key: without the database, and limited by address. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { knowWorkingKeys } from '../../../api/keys/working-keys.ts'
import { buildInternal, buildPublic } from '../../../api/server.ts'
import { parseKey } from '../../../service/tenants/create-key.ts'
import { connect } from '../../../store/connect.ts'
import type { Db } from '../../../store/tenancy.ts'
import { INTERNAL, times, useHarness } from '../harness.ts'

const harness = useHarness()
const ADDRESS = '192.0.2.7'
const WRONG = `sim_0123456789ab_${'x'.repeat(43)}`
const wrongKey = (n: number) => `sim_${String(n).padStart(12, '0')}_${'x'.repeat(43)}`
const LIMIT = 60

beforeEach(() => {
  harness.now += 3_600_000
})

/** Both listeners on one database connection, which `held` takes away for a while. */
async function aProcess() {
  const { db, close } = connect(harness.databaseUrl, { max: 1 })
  const store = { ...harness.store, db }
  const outside = await buildPublic({ store })
  const inside = await buildInternal({ store, ...INTERNAL, dependencies: [] })
  onTestFinished(async () => {
    await Promise.all([outside.close(), inside.close()])
    await close()
  })
  const asking =
    (app: typeof outside, url: string) =>
    async ({ key, from = ADDRESS }: { key?: string; from?: string } = {}) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      const { statusCode: status, headers: got, body } = await app.inject({ url, remoteAddress: from, headers })
      const code: string | undefined = status < 400 ? undefined : JSON.parse(body).code
      return { status, retryAfter: got['retry-after'], code }
    }
  return { db, outside: asking(outside, '/api/tenant'), inside: asking(inside, '/internal/keys') }
}

/** Runs `work` while the only connection is taken. */
const held = <T>(db: Db, work: () => Promise<T>): Promise<T> => db.connection().execute(work)

const times401 = (count: number) => Array.from({ length: count }, () => [401, 'unauthorized'])

describe.each(['outside', 'inside'] as const)('a request without a key, %s', (listener) => {
  test('gets 401 without a database connection', async () => {
    const process = await aProcess()
    const ask = process[listener]

    const answers = await held(process.db, async () => [
      await ask(),
      await ask({ key: 'sim_1_2' }),
      await ask({ key: '' }),
    ])

    expect(answers.map(({ status, code }) => [status, code])).toEqual(times401(3))
  })

  test('gets 429 after 60 refusals in a minute', async () => {
    const { [listener]: ask } = await aProcess()

    const first = await times(LIMIT, () => ask())
    const next = await ask()
    harness.now += 60_000
    const later = await ask()

    expect(first.map(({ status, code }) => [status, code])).toEqual(times401(LIMIT))
    expect(next).toEqual({ status: 429, code: 'rate_limited', retryAfter: '60' })
    expect(later.status).toBe(401)
  })
})

describe('over the refusal limit of an address', () => {
  test('wrong keys take no connection, working keys pass', async () => {
    const { db, outside: ask } = await aProcess()
    const key = harness.tenant.key
    const flood = await times(LIMIT, () => ask({ key: WRONG }))

    const wrong = [await ask({ key: WRONG })]
    const right = await ask({ key })
    wrong.push(...(await held(db, () => times(20, () => ask({ key: WRONG })))))

    expect(flood.map(({ status }) => status)).toEqual(flood.map(() => 401))
    expect(wrong.map(({ status, code }) => [status, code])).toEqual(wrong.map(() => [429, 'rate_limited']))
    expect(right.status).toBe(200)
  })

  test('new keys pass within a second, revoked keys fail', async () => {
    const { outside: ask } = await aProcess()
    await times(LIMIT, () => ask())
    await ask({ key: WRONG })
    const made = await harness.tenant.inside('POST', '/internal/keys', { name: 'new', scopes: ['read'] })

    const atOnce = await ask({ key: made.body.key })
    harness.now += 1000
    const later = await ask({ key: made.body.key })
    await harness.tenant.inside('DELETE', `/internal/keys/${made.body.id}`)
    const revoked = await ask({ key: made.body.key })

    expect([atOnce.status, later.status, revoked.status]).toEqual([429, 200, 401])
    expect(atOnce.retryAfter).toBe('1')
  })

  test('wrong keys cause one read a second', async () => {
    const { db, outside: ask } = await aProcess()
    await times(LIMIT, () => ask())
    const began = vi.spyOn(db, 'transaction')
    const flood = () => Promise.all(Array.from({ length: 20 }, (_, n) => ask({ key: wrongKey(n) })))

    const answers = [...(await flood()), ...(await flood())]
    const atOnce = began.mock.calls.length
    harness.now += 1000
    answers.push(...(await flood()))

    expect(answers.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(answers.map(() => [429, '1']))
    expect([atOnce, began.mock.calls.length]).toEqual([1, 2])
  })

  test('no more wrong keys are looked for if they come at once', async () => {
    const { db, outside: ask } = await aProcess()
    const began = vi.spyOn(db, 'transaction')
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => ask({ key: wrongKey(n) })))
    const statuses = answers.map(({ status }) => status)

    expect(statuses.filter((status) => status === 401)).toHaveLength(LIMIT)
    expect(statuses.filter((status) => status === 429)).toHaveLength(100 - LIMIT)
    expect(began.mock.calls.length).toBe(LIMIT + 1)
  })

  test('keys that work pass if they come at once', async () => {
    const { outside: ask } = await aProcess()
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask({ key: harness.tenant.key })))

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect((await ask()).status).toBe(401)
  })

  test('a key passes by its secret, not its id', async () => {
    const { outside: ask } = await aProcess()
    await times(LIMIT, () => ask())

    const forged = `${harness.tenant.key.slice(0, -43)}${'x'.repeat(43)}`

    expect((await ask({ key: forged })).status).toBe(429)
    expect((await ask({ key: harness.tenant.key })).status).toBe(200)
  })

  test('other addresses get 401; IPv6 counts by network', async () => {
    const { outside: ask } = await aProcess()
    await times(LIMIT, () => ask({ from: '2001:db8:0:1::a' }))

    const answers = [
      await ask({ from: '2001:db8:0:1:ffff::b' }),
      await ask({ from: '2001:db8:0:2::a' }),
      await ask({ from: ADDRESS }),
      await ask({ from: `::ffff:${ADDRESS}` }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([429, 401, 401, 401])
  })
})

describe('knowWorkingKeys', () => {
  test('begins no read while one hangs', async () => {
    const { db } = await aProcess()
    const began = vi.spyOn(db, 'transaction')
    const works = knowWorkingKeys({ ...harness.store, db })
    const key = parseKey(harness.tenant.key) ?? expect.fail('the key of the tenant has no form')

    const answers = await held(db, async () => {
      const first = works(key)
      harness.now += 10_000
      return [Promise.all([first, works(key)])]
    })

    expect(await answers[0]).toEqual([true, true])
    expect(began.mock.calls.length).toBe(1)
  })
})
