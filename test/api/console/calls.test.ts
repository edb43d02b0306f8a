/** The console's calls: each has the rights of its session's key, and no request from the wire has them. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { idempotent } from '../../../adapters/rest/client.ts'
import type { App } from '../../../api/http/app.ts'
import { buildPublic } from '../../../api/server.ts'
import { callsOf } from '../../../console/calls.ts'
import { withConcurrency } from '../../../domain/temporal/with-concurrency.ts'
import { aSim, NOON, useHarness } from '../harness.ts'
import { useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)

const keyOf = async (tenant = harness.tenant, body: Record<string, unknown> = {}) =>
  (await tenant.inside('POST', '/internal/keys', { name: 'k', scopes: ['read'], ...body })).body
const idOf = (key: string) => key.split('_')[1] ?? ''
const callsAs = (key: string, tenantId = harness.tenant.id, doors = harness) =>
  callsOf(doors, { keyId: idOf(key), tenantId, requestId: 'request-1' })
const statusOf = async (call: Promise<{ response: Response }>) => (await call).response.status

/** Asks 500 times. @param ask gets the number of the call, from 0 */
async function interleaved<T>(ask: (n: number) => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  const calls = Array.from({ length: 500 }, (_, n) => n)
  await withConcurrency(calls, AT_ONCE, async (n) => {
    answers[n] = await ask(n)
  })
  return answers
}
/** As many as may wait for two connections. */
const AT_ONCE = 50
const alternating = <T>(even: T, odd: T): T[] => Array.from({ length: 500 }, (_, n) => (n % 2 === 0 ? even : odd))

describe('500 interleaved calls', () => {
  test('of two callers are never mixed', async () => {
    const [ours, theirs] = [callsAs(harness.tenant.key), callsAs(harness.other.key, harness.other.id)]
    const answers = await interleaved(async (n) => {
      const { data } = await (n % 2 === 0 ? ours : theirs).outside.GET('/api/tenant')
      return data?.id
    })

    expect(answers).toEqual(alternating(harness.tenant.id, harness.other.id))
  })

  test('of a caller and of nobody are never mixed', async () => {
    const operator = callsAs(harness.operatorKey)
    const answers = await interleaved(async (n) =>
      n % 2 === 0
        ? statusOf(operator.inside.GET('/internal/keys'))
        : (await harness.inside.inject('/internal/keys')).statusCode,
    )

    expect(answers).toEqual(alternating(200, 401))
  })
})

describe('a call', () => {
  test('of a revoked or expired key is refused at once', async () => {
    const [revoked, expired] = [await keyOf(), await keyOf(harness.tenant, { expiresAt: new Date(NOON + 1) })]
    const ask = async () => [
      await statusOf(callsAs(revoked.key).outside.GET('/api/tenant')),
      await statusOf(callsAs(expired.key).outside.GET('/api/tenant')),
    ]
    const before = await ask()
    await harness.tenant.inside('DELETE', `/internal/keys/${revoked.id}`)

    expect(before).toEqual([200, 200])
    expect(await harness.at(NOON + 1, ask)).toEqual([401, 401])
  })

  test('has the scopes and the tenant of its key', async () => {
    const { key } = await keyOf()
    const pool = { body: { type: 0, tariffId: 1, watchdogMode: 1 } } as const
    const statuses = [
      await statusOf(callsAs(key).outside.POST('/api/pools', { params: idempotent(), ...pool })),
      await statusOf(callsAs(key, harness.other.id).outside.GET('/api/tenant')),
      await statusOf(callsAs(key).inside.GET('/internal/keys')),
      await statusOf(callsAs(harness.operatorKey, 'nobody').outside.GET('/api/tenant')),
      await statusOf(callsAs('sim_0123456789ab_').outside.GET('/api/tenant')),
    ]

    expect(statuses).toEqual([403, 403, 403, 404, 401])
  })

  test('is in the audit trail under its key, with the id of the request', async () => {
    const { id } = await aSim(harness.tenant)
    const status = await statusOf(
      callsAs(harness.operatorKey).outside.PATCH('/api/sims/{id}/tag', {
        params: { path: { id } },
        body: { tag: 'a' },
      }),
    )
    const trail = await harness.tenant.inside('GET', `/internal/audit?subject=sim&subjectId=${id}`)

    expect(status).toBe(200)
    const actor = `key:${idOf(harness.operatorKey)}`
    expect(trail.body.data[0]).toMatchObject({ actor, keyId: idOf(harness.operatorKey), requestId: 'request-1' })
  })

  test('counts for the limit of its key', async () => {
    const { callers, inside, store } = harness
    const outside = await buildPublic({ store, callers, requestLimit: { perMinute: 2 } })
    onTestFinished(() => outside.close())
    const { key } = await keyOf()
    const calls = callsAs(key, harness.tenant.id, { ...harness, callers, inside, outside })
    const statuses = [1, 2, 3].map(() => statusOf(calls.outside.GET('/api/tenant')))

    expect((await Promise.all(statuses)).toSorted()).toEqual([200, 200, 429])
  })
})

describe('a request from the wire', () => {
  let app: App
  let url: string
  beforeAll(async () => {
    app = await buildPublic({ store: harness.store, callers: harness.callers, refusalLimit: 0 })
    url = await app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => app.close())

  test('has no caller, even if sent from the context of one', async () => {
    const ask = async () => (await fetch(`${url}/api/tenant`)).status
    const inContext = harness.callers.run({ keyId: idOf(harness.tenant.key) }, () => Promise.all([ask(), ask()]))

    expect(await inContext).toEqual([401, 401])
  })

  test('reaches nothing with the token of a session', async () => {
    const token = (await pages.signedIn(harness.tenant.key)).token() ?? ''
    const keyId = idOf(harness.tenant.key)
    const guesses: Record<string, string>[] = [
      { authorization: `Bearer ${token}` },
      { authorization: `Bearer sim_${keyId}_${token}` },
      { 'x-api-key': token },
      { cookie: `__Host-simherd=${token}` },
      { 'x-session': token },
      { 'x-key-id': keyId },
    ]
    const statuses = await Promise.all(
      guesses.flatMap((headers) => [
        fetch(`${url}/api/tenant`, { headers }).then(({ status }) => status),
        harness.inside.inject({ url: '/internal/keys', headers }).then(({ statusCode }) => statusCode),
      ]),
    )

    expect(token).toHaveLength(43)
    expect(statuses).toEqual(Array(12).fill(401))
  })
})
