/**
 * A tenant with 200 SIMs, or as many as are asked for, whose workflows are halfway when a fault happens:
 *
 *   fleet    150 SIMs on the way from Unprovisioned to Active
 *   late      14 SIMs over their limit: the suspend ticket is open
 *   grace     12 SIMs over their limit, in the grace period; each also gets an SMS
 *   cleared   12 suspended SIMs with corrected usage: they are brought back
 *   taken     12 suspended SIMs that a person activates: their workflow ends
 *
 * Everything here is done through the interfaces, as people, mediation and the operator do it.
 */

import { iccidOf } from '../../domain/identifiers.ts'
import { withConcurrency } from '../../domain/temporal/with-concurrency.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { roomyCycle } from '../setup/cycles.ts'
import type { Service } from '../setup/service.ts'
import { until } from '../setup/soon.ts'
import { type Sources, type Witnesses, witnessesOf } from './witnesses.ts'

const SIZES = { fleet: 150, late: 14, grace: 12, cleared: 12, taken: 12 } as const
export type Group = keyof typeof SIZES
/** How many SIMs are in each group. */
export type Sizes = Readonly<Record<Group, number>>
export const GROUPS = Object.keys(SIZES) as Group[]

/** @param share of the 200 SIMs, 0 to 1; each group has its part of it */
export const sizesOf = (share: number): Sizes =>
  Object.fromEntries(GROUPS.map((group) => [group, Math.round(SIZES[group] * share)])) as Sizes
const OVER = GROUPS.filter((group) => group !== 'fleet')

/** Longer than it takes until all SIMs are halfway, also on a busy machine. */
const GRACE = 'PT20S'
/** Share of the fleet. */
const NEARLY_HALF = 0.4
const MB = 1_000_000
const LIMIT_MB = 100
const FEES = { simMonthlyFee: 2, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 5 }
/** Concurrent requests of the test. */
const CONCURRENCY = 20

export interface HerdSim {
  readonly id: number
  readonly iccid: string
  readonly group: Group
  readonly poolId: number
}

export interface Herd {
  readonly tenantId: string
  readonly billingEmail: string
  readonly cycle: string
  readonly sims: readonly HerdSim[]
  readonly witnesses: Witnesses
}

/** A rule for each group that goes over its limit, so that no rule suspends more SIMs than the guard lets through. */
export const herdRules = OVER.map((group) => ({
  file: `sim/over-${group}.json`,
  text: JSON.stringify({
    name: `over-${group}`,
    description: `SIMs of pool ${group} that are over their limit.`,
    subject: 'sim',
    match: { pool: group },
    conditions: { all: [{ fact: 'overageMB', operator: 'greaterThan', value: 0 }] },
    event: {
      type: 'overage',
      params: {
        level: 'Critical',
        message: 'SIM {{iccid}} is {{overageMB}} MB over its limit.',
        actions: ['log', 'email', 'suspend'],
        suspend: { target: 'self', grace: group === 'grace' ? GRACE : 'PT0S', until: 'renewal' },
        once: 'cycle',
        resolve: 'log',
        stage: 'enforce',
      },
    },
    examples: [
      { fires: true, facts: { overageMB: 1 } },
      { fires: false, facts: { overageMB: 0 } },
    ],
  }),
}))

let herds = 0

/**
 * Makes the tenant and its SIMs. Afterwards `fleet` is Unprovisioned, `late` and `grace` are Active, `cleared` and
 * `taken` are Suspended.
 */
export async function raiseHerd(service: Service, sources: Sources, sizes: Sizes): Promise<Herd> {
  const number = ++herds
  const billingEmail = `herd-${number}@meadow.example`
  const billingCycle = roomyCycle()
  const named = { name: `Meadow ${number}`, billingEmail, billingCycle }
  const { id: tenantId } = await service.call('POST', '/internal/tenants', '', named)
  const tariff = { displayName: 'Meter', type: 0, standardTariff: { baseTariffBytes: LIMIT_MB * MB, ...FEES } }
  const { id: tariffId } = await service.call('POST', '/internal/tariffs', tenantId, tariff)
  const groups = GROUPS.flatMap((group) => Array.from({ length: sizes[group] }, () => group))
  const delivered = groups.map((_, n) => ({ iccid: iccidOf(`894451${String(number * 1000 + n).padStart(12, '0')}`) }))
  const { created } = await service.call('POST', '/internal/sims', tenantId, { sims: delivered })
  const poolIds = new Map<Group, number>()
  for (const name of GROUPS) {
    const pool = { name, type: 0, tariffId, watchdogMode: 2 }
    poolIds.set(name, (await service.tenantCall('POST', '/api/pools', tenantId, pool)).id)
  }
  const sims = groups.map((group, n) => ({ ...created[n], group, poolId: poolIds.get(group) }))
  const cycle = cycleAt(billingCycle, Date.now()).key
  const herd: Herd = { tenantId, billingEmail, cycle, sims, witnesses: witnessesOf(sources, tenantId) }

  await openTickets(service, herd, OVER, 'provision', ({ poolId }) => ({ poolId }))
  await openTickets(service, herd, OVER, 'activate')
  await until(
    'all groups but the fleet active',
    async () => {
      const lines = await herd.witnesses.lines()
      return of(herd, ...OVER).every(({ id }) => lines.get(id)?.status === 1)
    },
    120,
  )
  await overLimit(service, herd, 'cleared', 'taken')
  // Waits until the workflows know it too. The tests of the workflows cover what happens before that.
  await until(
    'cleared and taken suspended',
    async () => {
      const log = await herd.witnesses.log()
      return log.filter(({ key }) => key.endsWith('/suspended/0')).length === of(herd, 'cleared', 'taken').length
    },
    120,
  )
  return herd
}

/** One of several equal parts of a herd, with SIMs of every group. @param part 0 to parts - 1 */
export const partOf = (herd: Herd, part: number, parts: number): Herd => ({
  ...herd,
  sims: herd.sims.filter((_, n) => n % parts === part),
})

const of = ({ sims }: Herd, ...groups: readonly Group[]) => sims.filter(({ group }) => groups.includes(group))

/** Opens a ticket on each SIM of these groups, as a person. */
const openTickets = (
  service: Service,
  herd: Herd,
  groups: readonly Group[],
  kind: string,
  more: (sim: HerdSim) => object = () => ({}),
) =>
  withConcurrency(of(herd, ...groups), CONCURRENCY, async (sim) => {
    await service.tenantCall('POST', `/api/tickets/${kind}`, herd.tenantId, { simId: sim.id, ...more(sim) })
  })

async function use(service: Service, herd: Herd, groups: readonly Group[], megabytes: number): Promise<void> {
  const correction = megabytes < 0 ? { correction: true } : {}
  const records = of(herd, ...groups).map(({ id }) => ({
    recordId: `${id}/${megabytes}`,
    simId: id,
    at: new Date().toISOString(),
    bytesDown: megabytes * MB,
    ...correction,
  }))
  const { rejected } = await service.call('POST', '/internal/usage', herd.tenantId, { records })
  if (rejected.length > 0) throw new Error(`usage was rejected: ${JSON.stringify(rejected)}`)
}
const overLimit = (service: Service, herd: Herd, ...groups: readonly Group[]) =>
  use(service, herd, groups, LIMIT_MB + 30)

/** Starts the workflows of the fleet. */
export const startFleet = (service: Service, herd: Herd) =>
  withConcurrency(of(herd, 'fleet'), CONCURRENCY, async ({ id, poolId }) => {
    await service.call('POST', '/internal/workflows/provision-and-activate', herd.tenantId, { simId: id, poolId })
  })

/** Starts the work of late, grace and cleared. */
export async function moveUsage(service: Service, herd: Herd): Promise<void> {
  await openTickets(service, herd, ['grace'], 'send-sms', () => ({ message: 'Your limit is reached.' }))
  await use(service, herd, ['cleared'], -60)
  await overLimit(service, herd, 'late', 'grace')
}

/** Starts the work of taken. */
export const takeBack = (service: Service, herd: Herd) => openTickets(service, herd, ['taken'], 'activate')

/**
 * Starts the work of all groups. All requests have their responses before the fault.
 *
 * @param hold makes the carrier slow, so that the work that starts last is not done before the fault
 */
export async function bringToTheMiddle(service: Service, herd: Herd, hold: (slow: boolean) => Promise<void>) {
  const { witnesses } = herd
  const linesOf = async (...groups: Group[]) => {
    const lines = await witnesses.lines()
    return of(herd, ...groups).map(({ id }) => lines.get(id) ?? { status: -1, open: 0 })
  }
  await hold(true)
  await startFleet(service, herd)
  await hold(false)
  const halfway = async () =>
    (await linesOf('fleet')).filter(({ status }) => status === 1).length >= NEARLY_HALF * of(herd, 'fleet').length
  await until('nearly half of the fleet active', halfway, 300)
  await hold(true)
  await moveUsage(service, herd)
  const hasOpenTicket = async () => (await linesOf('late', 'cleared')).some(({ open }) => open > 0)
  await until('the first ticket of late or cleared', hasOpenTicket, 120)
  await takeBack(service, herd)
  await hold(false)
}
