/**
 * Outages of one process or server of an installation with two of each: it hangs, or is away for minutes, or is restarted.
 * 40 lifecycles are halfway, and lists, tickets and usage arrive. A small outage stays small: every request is answered,
 * and nothing is lost or done twice.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { requireRedis } from '../setup/requirements.ts'
import { until } from '../setup/soon.ts'
import { startBalancer } from './balancer.ts'
import { whileFrozen } from './freeze.ts'
import { type Harness, openHarness, play } from './harness.ts'
import { ANSWER_MS, openTraffic } from './traffic.ts'

const hasRedis = requireRedis('outages of an installation with two of each') !== undefined
/** Longer than every time-out: of a statement, of an activity, of a lock in the queues. */
const FROZEN_MS = 75_000
/** Longest pause between two effects at the carrier while an API or a worker hangs. */
const STANDSTILL_MS = 30_000
/** 40 lifecycles. */
const SHARE = 0.2

let opened: Promise<Harness> | undefined
const harness = () => (opened ??= openHarness({ withRedis: true, each: 2, settings: { STOP_DELAY: 'PT5S' } }))
afterAll(async () => (await opened)?.close())

const FROZEN: Record<string, (harness: Harness) => number | undefined> = {
  PostgreSQL: ({ servers }) => servers.postgres.pid(),
  Redis: ({ servers }) => servers.redis.pid(),
  Temporal: ({ servers }) => servers.temporal.pid(),
  API: ({ service }) => service.api.pid(),
  worker: ({ service }) => service.worker.pid(),
}

test.skipIf(!hasRedis).each(Object.keys(FROZEN))('is small: %s hangs', { timeout: 900_000 }, async (name) => {
  const running = await harness()
  const traffic = await openTraffic(running.service)
  let seen: Awaited<ReturnType<typeof traffic.during>> | undefined
  const began = Date.now()
  const strike = async () => {
    const work = whileFrozen(FROZEN[name]?.(running), () => sleep(FROZEN_MS))
    seen = await traffic.during(work)
  }

  const { report } = await play(running, { name, share: SHARE, strike })

  const slowest = Math.max(...(seen?.answers ?? []).map(({ ms }) => ms))
  const effects = (await running.servers.carrier.journal())
    .filter(({ outcome, at }) => outcome === 'done' && Date.parse(at) > began)
    .map(({ at }) => Date.parse(at))
  const pauses = effects.slice(1).map((at, n) => at - (effects[n] ?? at))
  const statuses = Map.groupBy(seen?.answers ?? [], ({ what, status }) => `${what} ${status}`)
  console.log(
    `${name}: ${[...statuses].map(([key, all]) => `${all.length} × ${key}`).join(', ')}; slowest ${slowest} ms; ` +
      `${seen?.sentAgain} of ${seen?.sent} records sent again; longest pause of the lifecycles ${Math.max(...pauses)} ms`,
  )
  expect(report.faults).toEqual([])
  expect([report.doubles, report.effects]).toEqual([0, report.tickets])
  expect(seen?.answers.filter(({ status }) => status === 0)).toEqual([])
  expect(slowest).toBeLessThan(ANSWER_MS)
  expect(seen?.counted).toBe(seen?.sent)
  if (name === 'API' || name === 'worker') expect(Math.max(...pauses)).toBeLessThan(STANDSTILL_MS)
})

test.skipIf(!hasRedis)('is small: Temporal is away for two minutes', { timeout: 900_000 }, async () => {
  const running = await harness()
  const { service, servers } = running
  const traffic = await openTraffic(service)
  const readiness: number[] = []
  const back = new AbortController()
  const watch = async () => {
    while (!back.signal.aborted) {
      for (const { internalUrl } of service.all) readiness.push((await fetch(`${internalUrl}/readyz`)).status)
      await sleep(1000)
    }
  }
  let seen: Awaited<ReturnType<typeof traffic.during>> | undefined
  const start = { what: 'start', method: 'POST', path: '/internal/workflows/provision-and-activate' }
  const strike = async () => {
    const meanwhile = async () => {
      seen = await traffic.during(sleep(120_000), [
        { ...start, body: { simId: traffic.spareSimId, poolId: traffic.poolId } },
      ])
      back.abort()
    }
    await Promise.all([servers.temporal.outage(120_000, meanwhile), watch()])
  }

  const { report } = await play(running, { name: 'Temporal away', share: SHARE, strike })

  expect(report.faults).toEqual([])
  expect([report.doubles, report.effects]).toEqual([0, report.tickets])
  expect(new Set(readiness)).toEqual(new Set([200]))
  // A slow machine has too many requests of the key under way at once: those are told to wait, and sent again.
  const answered = seen?.answers.filter(({ status, retryAfter }) => status !== 429 || retryAfter === null)
  const statuses = (what: string) => new Set(answered?.filter((one) => one.what === what).map((one) => one.status))
  expect([statuses('list'), statuses('usage'), statuses('ticket')]).toEqual(
    [[200], [200], [200]].map((s) => new Set(s)),
  )
  const starts = answered?.filter(({ what }) => what === 'start') ?? []
  expect(starts.length).toBeGreaterThan(10)
  expect(starts.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toEqual([])
  expect(seen?.counted).toBe(seen?.sent)
})

test.skipIf(!hasRedis)(
  'is none: the APIs are restarted in turn behind a load balancer',
  { timeout: 300_000 },
  async () => {
    const { service } = await harness()
    const { tenantId } = await openTraffic(service)
    const balancer = await startBalancer(
      service.all.map(({ apiUrl, internalUrl }) => ({ url: apiUrl, readyUrl: internalUrl })),
    )
    onTestFinished(balancer.stop)
    const answers: string[] = []
    const over = new AbortController()
    const send = async () => {
      while (!over.signal.aborted) {
        const headers = { authorization: `Bearer ${service.key}`, 'x-tenant-id': tenantId }
        const answer = await fetch(`${balancer.url}/api/sims`, { headers }).catch((error: Error) => error)
        answers.push(answer instanceof Error ? answer.message : String(answer.status))
        if (!(answer instanceof Error)) await answer.text()
        await sleep(20)
      }
    }
    const sending = Promise.all(Array.from({ length: 4 }, send))

    for (const { api } of service.all) {
      const before = api.pid()
      process.kill(before ?? 0, 'SIGTERM')
      await until('the end of the old process', () => api.pid() !== before)
      await until('requests to all APIs', () => balancer.ready() === service.all.length)
    }
    await until('1,000 requests', () => answers.length >= 1000)
    over.abort()
    await sending

    expect(new Set(answers)).toEqual(new Set(['200']))
    expect(balancer.served().every((count) => count > 100)).toBe(true)
  },
)
