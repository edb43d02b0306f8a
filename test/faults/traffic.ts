/** Sends requests through all outages: lists, tickets and usage of a separate tenant, to all APIs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openAddresses } from '../../adapters/rest/addresses.ts'
import { iccidOf } from '../../domain/identifiers.ts'
import { roomyCycle } from '../setup/cycles.ts'
import { aMeterTenant } from '../setup/meters.ts'
import type { Service } from '../setup/service.ts'
import { soon } from '../setup/soon.ts'

/**
 * Every request is answered within this time, even by frozen servers: PostgreSQL is given up after 35 s. A slow machine
 * needs some more.
 */
export const ANSWER_MS = 60_000
const EVERY_MS = 250

/** An answer. Status 0: none came. */
export interface Answer {
  readonly what: string
  readonly status: number
  readonly ms: number
  readonly retryAfter: string | null
}

let estates = 0

/** @returns a function that sends requests while some work goes on, and returns their results */
export async function openTraffic(service: Service) {
  const name = `Traffic ${++estates}`
  const named = { name, billingEmail: 'traffic@meadow.example', billingCycle: roomyCycle() }
  const { tenantId, poolIds } = await aMeterTenant(service, named, ['pool'], { watchdogMode: 0 })
  const poolId = poolIds.pool
  const [iccid, spare] = ['894452', '894453'].map((start) => iccidOf(start + String(estates).padStart(12, '0')))
  const at = new Date().toISOString()
  const sims = [{ iccid, status: 1, poolId, activatedAt: at }, { iccid: spare }]
  const { created } = await service.call('POST', '/internal/sims', tenantId, { sims })
  const { id: simId } = created[0]
  const recordOf = (n: number) => ({ recordId: `traffic/${n}`, simId, at, bytesDown: 1_000_000 })
  const post = async (records: readonly object[]) => {
    const { rejected } = await service.call('POST', '/internal/usage', tenantId, { records })
    if (rejected.length > 0) throw new Error(`usage was rejected: ${JSON.stringify(rejected)}`)
  }

  const outside = openAddresses(service.all.map(({ apiUrl }) => apiUrl).join(','))
  const inside = openAddresses(service.all.map(({ internalUrl }) => internalUrl).join(','))
  const ask = async (what: string, method: string, path: string, body?: object): Promise<Answer> => {
    const began = performance.now()
    const addresses = path.startsWith('/api') ? outside : inside
    const caller = { authorization: `Bearer ${service.key}`, 'x-tenant-id': tenantId }
    const headers = { ...caller, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const request = new Request(addresses.first + path, { method, headers, ...sent })
    const answer = await addresses.send(request, { timeoutMs: ANSWER_MS }).catch(() => undefined)
    await answer?.text()
    const ms = Math.round(performance.now() - began)
    return { what, status: answer?.status ?? 0, ms, retryAfter: answer?.headers.get('retry-after') ?? null }
  }

  return {
    tenantId,
    poolId,
    /** An Unprovisioned SIM. */
    spareSimId: created[1].id,
    /**
     * Sends a list, a record of usage and every fourth time a ticket, each quarter of a second, until the work has ended.
     * Then sends records not accepted again.
     *
     * @param more a further request each second
     * @returns the answers, and how many records were sent and counted
     */
    async during(
      work: Promise<unknown>,
      more: readonly { what: string; method: string; path: string; body?: object }[] = [],
    ) {
      const answers: Promise<Answer>[] = []
      const unaccepted = new Set<number>()
      const over = new AbortController()
      const ended = work.finally(() => over.abort())
      // Its failure is thrown below.
      ended.catch(() => undefined)
      let n = 0
      const sendOne = async (record: number) => {
        const answer = await ask('usage', 'POST', '/internal/usage', { records: [recordOf(record)] })
        if (answer.status === 200) unaccepted.delete(record)
        return answer
      }
      while (!over.signal.aborted) {
        n += 1
        unaccepted.add(n)
        answers.push(ask('list', 'GET', '/api/sims'), sendOne(n))
        if (n % 4 === 1) {
          answers.push(ask('ticket', 'POST', '/api/tickets/refresh', { simId }))
          for (const { what, method, path, body } of more) answers.push(ask(what, method, path, body))
        }
        await sleep(EVERY_MS)
      }
      await ended
      const all = await Promise.all(answers)
      const left = [...unaccepted]
      if (left.length > 0) await soon(() => post(left.map(recordOf)))
      const { usageMB } = await service.tenantCall('GET', `/api/sims/${simId}`, tenantId)
      return { answers: all, sentAgain: left.length, sent: n, counted: usageMB }
    },
  }
}
