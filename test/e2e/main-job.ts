/**
 * The main job on a small estate with a cycle of minutes, through the interfaces alone:
 *
 *   provision and activate → usage → rules → mail → suspend → month end
 *
 * The end-to-end test runs it as it is. The fault tests kill processes on the way.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { iccidOf } from '../../domain/identifiers.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { MB } from '../../domain/units.ts'
import { cycleThatEndsSoon } from '../setup/cycles.ts'
import type { Service } from '../setup/service.ts'
import { until, untilInstant } from '../setup/soon.ts'

/** The monthly fee is high, so that a forecast of the overage cost stays small beside it at any time of the cycle. */
const FEES = { simMonthlyFee: 20, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 5 }
const STANDARD = { displayName: 'Meter', type: 0, standardTariff: { baseTariffBytes: 100 * MB, ...FEES } }
const DYNAMIC = { displayName: 'Fleet', type: 1, dynamicPoolTariff: { baseTariffBytes: 100 * MB, ...FEES } }
const LAMPS = { fixedCapacityBytes: 300 * MB, fixedBucketCost: 20, ...FEES }
const FIXED = { displayName: 'Lamps', type: 2, fixedPoolTariff: LAMPS }

export interface Player {
  readonly tenantId: string
  readonly pools: { readonly standard: number; readonly dynamic: number; readonly fixed: number }
  /** SIM ids by name: `standard-0` … `fixed-3`. */
  readonly sims: ReadonlyMap<string, number>
}

type Moment = 'activating' | 'suspending' | 'closing'

/**
 * Acts as people and mediation do. The caller checks the outcome.
 *
 * @param needsMs the time that the job needs in the cycle, with a margin: alone it takes 6 s, on a busy machine 9 s
 * @param at called at each moment at which a test may interfere
 * @throws Error with the last lines of the processes
 */
export const playMainJob = (
  service: Service,
  needsMs = 60_000,
  at: (moment: Moment) => Promise<void> = async () => {},
) =>
  play(service, needsMs, at).catch((error) => {
    throw new Error(`${error.message}\n${service.lines.slice(-40).join('\n')}`, { cause: error })
  })

async function play(service: Service, needsMs: number, at: (moment: Moment) => Promise<void>) {
  // The tenant is made within this cycle: a Fixed pool's bucket is charged in every cycle in which the pool exists.
  const { billingCycle, cycle: start } = cycleThatEndsSoon(needsMs)
  const player = await setUp(service, billingCycle)
  await activate(service, player, at)
  const activated = cycleAt(billingCycle, Date.now())
  expect(activated.key, 'all SIMs are active within the cycle').toBe(start.key)
  const ticker = keepTalking(service, player)
  await use(service, player, [
    ['standard-0', 130 * MB],
    ['standard-1', 85 * MB],
    ['dynamic-0', 350 * MB],
    ['dynamic-1', 90 * MB],
    ['fixed-0', 320 * MB],
  ])
  await use(service, player, [['standard-0', 130 * MB]])
  await at('suspending')
  await statusesAre(service, player, { 'standard-0': 2, 'dynamic-0': 2, 'fixed-0': 1 })
  await queueChanges(service, player)
  expect(Date.now(), 'all is queued before the boundary').toBeLessThan(start.endsAt)
  await untilInstant(start.endsAt - 500)
  await at('closing')
  await until('the close of the cycle', () => isClosed(service, player, start.key), 90)
  await settled(service, player)
  await ticker.stop()
  return { player, cycle: start }
}

async function setUp(service: Service, billingCycle: string): Promise<Player> {
  const { call } = service
  const tenant = { name: 'Meadow', billingEmail: 'billing@meadow.example', billingCycle }
  const { id: tenantId } = await call('POST', '/internal/tenants', '', tenant)
  const tariff = async (body: object) => (await call('POST', '/internal/tariffs', tenantId, body)).id as number
  const pool = async (name: string, type: number, tariffId: number, watchdogMode: number) => {
    const asked = { name, type, tariffId, watchdogMode, warningThresholdPct: 80 }
    return (await service.tenantCall('POST', '/api/pools', tenantId, asked)).id as number
  }
  const pools = {
    standard: await pool('meters', 0, await tariff(STANDARD), 2),
    dynamic: await pool('fleet', 1, await tariff(DYNAMIC), 2),
    fixed: await pool('lamps', 0, await tariff(FIXED), 1),
  }
  const names = ['standard', 'dynamic', 'fixed'].flatMap((kind) => [0, 1, 2, 3].map((n) => `${kind}-${n}`))
  const serial = Date.now() % 1_000_000_000
  const sims = names.map((tag, n) => ({ iccid: iccidOf(`894450${String(serial * 100 + n).padStart(12, '0')}`), tag }))
  const { created } = await call('POST', '/internal/sims', tenantId, { sims })
  const ids = new Map<string, number>(created.map(({ id }: { id: number }, n: number) => [names[n], id]))
  return { tenantId, pools, sims: ids }
}

const poolOf = (player: Player, name: string) => player.pools[name.split('-')[0] as keyof Player['pools']]

async function activate(service: Service, player: Player, at: (moment: Moment) => Promise<void>) {
  const starts = [...player.sims].map(([tag, simId]) => {
    const body = { simId, poolId: poolOf(player, tag), tag }
    return service.call('POST', '/internal/workflows/provision-and-activate', player.tenantId, body)
  })
  await Promise.all(starts)
  await at('activating')
  const every = Object.fromEntries([...player.sims.keys()].map((name) => [name, 1]))
  await statusesAre(service, player, every)
  await until(
    'the end of all provisioning workflows',
    async () => {
      const path = '/internal/workflows?type=provision-and-activate&status=completed'
      const page = await service.call('GET', path, player.tenantId)
      return page.pagination.totalItems === player.sims.size
    },
    120,
  )
}

async function statusesAre(service: Service, player: Player, wanted: Record<string, number>) {
  for (const [name, status] of Object.entries(wanted)) {
    const path = `/api/sims/${player.sims.get(name)}`
    await until(
      `${name} has status ${status}`,
      async () => {
        const sim = await service.tenantCall('GET', path, player.tenantId)
        return sim.status === status && !sim.processingTicket
      },
      120,
    )
  }
}

let serial = 0
async function use(service: Service, player: Player, usage: readonly (readonly [string, number])[]) {
  const records = usage.map(([name, bytesDown]) => ({
    recordId: `u-${name}-${bytesDown}`,
    simId: player.sims.get(name),
    at: usedAt(name),
    bytesDown,
    imei: '356938035643809',
  }))
  await service.call('POST', '/internal/usage', player.tenantId, { records })
}
const times = new Map<string, string>()
/** A record that is sent again has the time of its first sending, so that it is the same record. */
function usedAt(name: string): string {
  const at = times.get(name) ?? new Date().toISOString()
  times.set(name, at)
  return at
}

/** Sends usage of ten bytes a second for every SIM, so that none is silent. That takes no SIM over a limit. */
function keepTalking(service: Service, player: Player) {
  const stopping = new AbortController()
  const talk = async () => {
    while (!stopping.signal.aborted) {
      const at = new Date().toISOString()
      const records = [...player.sims.values()].map((simId) => ({ recordId: `t-${serial++}`, simId, at, bytesUp: 10 }))
      await service.call('POST', '/internal/usage', player.tenantId, { records }).catch(() => {})
      await sleep(1000, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const talking = talk()
  return {
    stop: async () => {
      stopping.abort()
      await talking
    },
  }
}

/** Queues two changes for the end of the cycle: one SIM moves, one is unprovisioned. */
async function queueChanges(service: Service, player: Player) {
  const id = (name: string) => player.sims.get(name)
  const target = { poolId: player.pools.standard }
  await service.tenantCall('POST', `/api/sims/${id('dynamic-3')}/queue-reprovision`, player.tenantId, target)
  await service.tenantCall('POST', `/api/sims/${id('fixed-3')}/queue-unprovision`, player.tenantId)
}

async function isClosed(service: Service, player: Player, key: string): Promise<boolean> {
  const cycles = await service.call('GET', '/internal/cycles', player.tenantId)
  return cycles.some((cycle: { key: string; closedAt: string | null }) => cycle.key === key && cycle.closedAt !== null)
}

/** Waits until all is done: requests to workflows delivered, notifications mailed, mails sent, tickets ended. */
async function settled(service: Service, player: Player) {
  await until(
    'the end of all work',
    async () => {
      const counts = await service.call('GET', '/internal/counts', player.tenantId)
      // A suspended SIM is brought back by its own workflow, which may end after the close.
      const path = '/internal/workflows?type=suspend-on-overage&status=running'
      const running = await service.call('GET', path, player.tenantId)
      if (running.pagination.totalItems > 0) return false
      const { Pending = 0, Processing = 0 } = counts.ticketsByStatus
      return (
        counts.due.requests === 0 &&
        counts.due.notices === 0 &&
        (counts.mailsByStatus.pending ?? 0) === 0 &&
        Pending + Processing === 0
      )
    },
    120,
  )
}
