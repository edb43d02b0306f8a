/** A tenant of the real service, and the requests of its people and of the operator. */
import { afterEach, beforeEach, expect } from 'vitest'
import { monthEndId, provisionAndActivateId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { useCommonHarness } from '../../setup/common-harness.ts'
import { soon } from '../../setup/soon.ts'
import { type RealService, startRealService } from './service.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Body = any

const FEES = { simMonthlyFee: 2, smsFee: 0, voiceFee: 0, overageFeePerGb: 5 }
export const MB = 1_000_000

const CLOSE_AFTER_MS = 6 * 3_600_000
const STATE_ATTEMPTS = 5

let tenants = 0
let iccids = 8_944_500_300_000_000_000n
let records = 0

export async function aCustomer(harness: RealService) {
  tenants += 1
  const billingEmail = `billing-${tenants}@meadow.example`
  const send = async (url: string, method: string, path: string, tenantId: string | null, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${harness.key}`,
        ...(tenantId === null ? {} : { 'x-tenant-id': tenantId }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const json: Body = text === '' ? null : JSON.parse(text)
    return { status: response.status, body: json }
  }
  const must = async (response: ReturnType<typeof send>): Promise<Body> => {
    const { status, body } = await response
    if (status >= 400) throw new Error(`got status ${status}: ${JSON.stringify(body)}`)
    return body
  }
  const named = { name: `Meadow ${tenants}`, billingEmail }
  const { id: tenantId } = await must(send(harness.internalUrl, 'POST', '/internal/tenants', null, named))
  const api = (method: string, path: string, body?: object) => must(send(harness.apiUrl, method, path, tenantId, body))
  const inside = (method: string, path: string, body?: object) =>
    must(send(harness.internalUrl, method, path, tenantId, body))
  const workflow = async (id: string) => {
    const read = () => inside('GET', `/internal/workflows/${encodeURIComponent(id)}`)
    let run = await read()
    // A busy worker reports the state too late for the response: then it is read again.
    for (let attempt = 1; run.state === null && attempt < STATE_ATTEMPTS; attempt += 1) run = await read()
    return run
  }

  const aPool = async (name: string, type: 0 | 1, allowanceMB: number): Promise<number> => {
    const terms = { baseTariffBytes: allowanceMB * MB, ...FEES }
    const tariff = { displayName: name, type, [type === 0 ? 'standardTariff' : 'dynamicPoolTariff']: terms }
    const { id: tariffId } = await inside('POST', '/internal/tariffs', tariff)
    return (await api('POST', '/api/pools', { name, type, tariffId, watchdogMode: 2 })).id
  }

  const customer = {
    tenantId,
    api,
    inside,
    /** As `inside`, but returns the status and does not throw. */
    tryInside: (method: string, path: string, body?: object) => send(harness.internalUrl, method, path, tenantId, body),
    workflow,
    /** Waits in real time until a workflow has ended. It need not have started yet. */
    ended: (id: string, seconds?: number): Promise<Body> =>
      soon(async () => {
        const run = await workflow(id)
        expect(run, id).not.toMatchObject({ status: 'running' })
        return run
      }, seconds),
    /** A Standard pool in Enforce mode. @param allowanceMB of each SIM */
    plainPool: (name = 'plain', allowanceMB = 100) => aPool(name, 0, allowanceMB),
    /** A Dynamic pool in Enforce mode, with 100 MB for each SIM. */
    sharedPool: (name: string) => aPool(name, 1, 100),
    unprovisioned: async (count: number): Promise<{ id: number; iccid: string }[]> => {
      const sims = Array.from({ length: count }, () => ({ iccid: String(iccids++) }))
      return (await inside('POST', '/internal/sims', { sims })).created
    },
    start: (simId: number, poolId: number) =>
      inside('POST', '/internal/workflows/provision-and-activate', { simId, poolId }),
    /** New SIMs, which provision-and-activate has taken to Active. */
    active: async (count: number, poolId: number): Promise<number[]> => {
      const ids = (await customer.unprovisioned(count)).map(({ id }) => id)
      for (const id of ids) await customer.start(id, poolId)
      for (const id of ids) {
        const { result } = await customer.ended(provisionAndActivateId(tenantId, id))
        expect(result).toMatchObject({ outcome: 'activated' })
      }
      return ids
    },
    sim: (id: number) => api('GET', `/api/sims/${id}`),
    untilSim: (id: number, wanted: object) =>
      soon(async () => expect(await customer.sim(id)).toMatchObject({ processingTicketCount: 0, ...wanted })),
    usage: async (simId: number, megabytes: number, more: object = {}) => {
      const at = new Date(await harness.now()).toISOString()
      const record = { recordId: `r${records++}`, simId, at, bytesDown: megabytes * MB, ...more }
      const response = await inside('POST', '/internal/usage', { records: [record] })
      expect(response).toMatchObject({ rejectedCount: 0 })
      await harness.pump.settled()
      return record
    },
    suspensionId: (simId: number, cycle: string) => suspendOnOverageId(tenantId, simId, cycle),
    /** Waits until the SIM's suspension is in a phase. @returns the workflow */
    untilPhase: (simId: number, cycle: string, phase: string): Promise<Body> =>
      soon(async () => {
        const run = await workflow(suspendOnOverageId(tenantId, simId, cycle))
        expect(run).toMatchObject({ state: { phase } })
        return run
      }),
    /** New SIMs of a plain pool, suspended for being 50 MB over their limit. */
    suspended: async (count: number, poolId: number, { key }: Cycle): Promise<number[]> => {
      const ids = await customer.active(count, poolId)
      for (const id of ids) await customer.usage(id, 150)
      for (const id of ids) await customer.untilPhase(id, key, 'suspended')
      return ids
    },
    /** Sends an update to the SIM's suspension. */
    update: (simId: number, cycle: string, name: string) =>
      inside('POST', `/internal/workflows/${suspendOnOverageId(tenantId, simId, cycle)}/updates/${name}`, {}),
    startMonthEnd: (cycle: string) => inside('POST', '/internal/workflows/month-end-reprovision', { cycle }),
    /** Runs the month end of an ended cycle, including the close six hours after the cycle's end. @returns its result */
    monthEnd: async (cycle: Cycle): Promise<Body> => {
      await customer.startMonthEnd(cycle.key)
      const id = monthEndId(tenantId, cycle.key)
      await soon(async () => expect((await workflow(id)).state).toMatchObject({ step: 'close' }))
      await harness.skipTo(cycle.endsAt + CLOSE_AFTER_MS)
      const { result } = await customer.ended(id)
      await harness.pump.settled()
      return result
    },
    /** Tickets of a SIM as `type/status`, the oldest first. */
    tickets: async (simId: number): Promise<string[]> => {
      const all: { simId: number; type: number; status: number }[] = await api('GET', '/api/tickets')
      return all
        .filter((ticket) => ticket.simId === simId)
        .map(({ type, status }) => `${TYPES[type]}/${STATUSES[status]}`)
        .reverse()
    },
    /** The watchdog's log, the oldest first: level, and message up to a colon or the rule, without the ICCID. */
    log: async (): Promise<string[]> => {
      const { data } = await api('GET', '/api/watchdog/logs?pageSize=100')
      const line = ({ level, message }: Body) =>
        `${level} ${message.split(/:| by rule /)[0].replace(/SIM \d{19}/, 'SIM')}`
      return data.map(line).reverse()
    },
    untilLog: (lines: readonly string[]) => soon(async () => expect(await customer.log()).toEqual(lines)),
    mails: () => harness.carrier.mails(billingEmail),
    /** The keys of notifications that are in a mail, the oldest first. */
    mailed: async (): Promise<string[]> => {
      const { data } = await inside('GET', '/internal/mails?pageSize=100')
      return data.flatMap((mail: Body) => mail.keys).reverse()
    },
    /**
     * Expects that every ticket has ended, no notification is in two mails, every mail was sent and received once, the
     * carrier did nothing twice, and the pump met no error.
     */
    expectEachOnce: async () => {
      await harness.pump.settled()
      const tickets: { status: number }[] = await api('GET', '/api/tickets')
      expect(tickets.filter(({ status }) => status < 2)).toEqual([])
      const { data } = await inside('GET', '/internal/mails?pageSize=100')
      const keys: string[] = data.flatMap((mail: Body) => mail.keys)
      expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted())
      expect(data.filter((mail: Body) => mail.status !== 'sent')).toEqual([])
      const received = (await customer.mails()).map(({ headers }) => headers['message-id'])
      expect(received.toSorted()).toEqual(data.map((mail: Body) => mail.id).toSorted())
      expect(await harness.carrier.doubleEffects()).toBe(0)
      expect(harness.pump.faults).toEqual([])
    },
  }
  return customer
}
export type Customer = Awaited<ReturnType<typeof aCustomer>>

/**
 * One service for a group of tests, and a new customer before each test. After each test the carrier and the activities'
 * connection are reset, and the carrier must have done everything once.
 *
 * @param path the time-skipping server's program
 * @param begin prepares each started service
 * @returns as {@link useCommonHarness}, and `customer`: the present one
 */
export function useCustomer(path: string, begin: (harness: RealService) => Promise<unknown> = async () => {}) {
  const { harness, giveUp } = useCommonHarness(() => startRealService(path), begin)
  let present: Customer
  const customer = new Proxy({} as Customer, { get: (_, name) => Reflect.get(present, name) })
  beforeEach(async () => {
    present = await aCustomer(harness)
  })
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') return
    harness.carrier.knobs.before = async () => {}
    harness.line.fateOf = () => 'through'
    await customer.expectEachOnce()
  })
  return { harness, customer, giveUp }
}

const TYPES = ['activate', 'suspend', 'provision', 'sms', 'refresh']
const STATUSES = ['pending', 'processing', 'complete', 'failed', 'cancelled']
