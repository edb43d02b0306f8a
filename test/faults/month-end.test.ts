/**
 * PostgreSQL is killed while a month end makes queued changes and brings back suspended SIMs. Afterwards each change
 * is made once, at the boundary, and the cycle is closed once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { iccidOf } from '../../domain/identifiers.ts'
import { monthEndId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { withConcurrency } from '../../domain/temporal/with-concurrency.ts'
import { MB } from '../../domain/units.ts'
import { cycleThatEndsSoon } from '../setup/cycles.ts'
import { aMeterTenant } from '../setup/meters.ts'
import { soon, until } from '../setup/soon.ts'
import { openHarness } from './harness.ts'
import { witnessesOf } from './witnesses.ts'

const SIZES = { moved: 60, leaving: 20, suspended: 14 } as const
type Group = keyof typeof SIZES
const TICKETS: Readonly<Record<Group, readonly string[]>> = {
  moved: ['provision', 'activate', 'provision'],
  leaving: ['provision', 'activate', 'provision'],
  suspended: ['provision', 'activate', 'suspend', 'activate'],
}
const EFFECTS: Readonly<Record<Group, readonly string[]>> = {
  ...TICKETS,
  moved: ['provision', 'activate', 'move'],
  leaving: ['provision', 'activate', 'unprovision'],
}
/** Minimum time left in the cycle: enough to make the estate, suspend and queue changes, also on a slow machine. */
const NEEDS_MS = 180_000
const CONCURRENCY = 20

const harness = await openHarness({ withRedis: false })
afterAll(harness.close)
const { service, servers, sources } = harness

interface Sim {
  readonly id: number
  readonly iccid: string
  readonly group: Group
}

async function anEstate(billingCycle: string) {
  const named = { name: 'Meadow', billingEmail: 'month@meadow.example', billingCycle }
  // The rule for pools named `late` suspends at once.
  const { tenantId, poolIds } = await aMeterTenant(service, named, ['late', 'target'])
  const groups = (Object.keys(SIZES) as Group[]).flatMap((group) => Array.from({ length: SIZES[group] }, () => group))
  const base = Date.now() % 1_000_000_000
  const delivered = groups.map((_, n) => ({ iccid: iccidOf(`894452${String(base * 1000 + n).padStart(12, '0')}`) }))
  const { created } = await service.call('POST', '/internal/sims', tenantId, { sims: delivered })
  const sims: Sim[] = groups.map((group, n) => ({ ...created[n], group }))
  await withConcurrency(sims, CONCURRENCY, async ({ id }) => {
    await service.tenantCall('POST', '/api/tickets/provision', tenantId, { simId: id, poolId: poolIds.late })
    await service.tenantCall('POST', '/api/tickets/activate', tenantId, { simId: id })
  })
  return { tenantId, sims, target: poolIds.target, witnesses: witnessesOf(sources, tenantId) }
}
type Estate = Awaited<ReturnType<typeof anEstate>>

async function statusesAre({ sims, witnesses }: Estate, group: Group, status: number): Promise<void> {
  await until(
    `${group} have status ${status}`,
    async () => {
      const lines = await witnesses.lines()
      return sims.every((sim) => sim.group !== group || lines.get(sim.id)?.status === status)
    },
    120,
  )
}

/** In the cycle that is about to end: usage suspends some SIMs, the others get a queued change. */
async function queueChanges({ tenantId, sims, target }: Estate): Promise<void> {
  const at = new Date().toISOString()
  const records = sims
    .filter(({ group }) => group === 'suspended')
    .map(({ id }) => ({ recordId: `over-${id}`, simId: id, at, bytesDown: 130 * MB }))
  await service.call('POST', '/internal/usage', tenantId, { records })
  await withConcurrency(sims, CONCURRENCY, async ({ id, group }) => {
    if (group === 'moved') {
      await service.tenantCall('POST', `/api/sims/${id}/queue-reprovision`, tenantId, { poolId: target })
    }
    if (group === 'leaving') await service.tenantCall('POST', `/api/sims/${id}/queue-unprovision`, tenantId)
  })
}

const closedAt = async ({ tenantId }: Estate, key: string) => {
  const [cycle] = await sources.rows<{ closed_at: Date | null }>(
    'select closed_at from cycles where tenant_id = $1 and key = $2',
    [tenantId, key],
  )
  return cycle?.closed_at ?? null
}

test('makes each change once though PostgreSQL is killed', async () => {
  const { billingCycle, cycle } = cycleThatEndsSoon(NEEDS_MS)
  const estate = await anEstate(billingCycle)
  const { tenantId, sims, witnesses } = estate
  for (const group of Object.keys(SIZES) as Group[]) await statusesAre(estate, group, 1)
  await queueChanges(estate)
  await statusesAre(estate, 'suspended', 2)
  expect(Date.now(), 'all is queued before the boundary').toBeLessThan(cycle.endsAt)

  await servers.carrier.turn({ latencyMs: [400, 600] })
  await sleep(cycle.endsAt - Date.now())
  const changes = async () => {
    const mine = new Set(sims.filter(({ group }) => group !== 'suspended').map(({ id }) => id))
    const kinds = (await witnesses.tickets()).filter(({ simId, kind }) => mine.has(simId) && kind === 'provision')
    const opened = kinds.slice(mine.size)
    return { opened: opened.length, done: opened.filter(({ status }) => status === 'complete').length }
  }
  const middle = await until(
    'fifteen changes made',
    async () => {
      const seen = await changes()
      return seen.done >= 15 && seen
    },
    120,
  )
  await servers.postgres.outage(3000)
  console.log(`PostgreSQL killed with ${middle.done} of ${middle.opened} opened changes made, of 80`)
  expect(middle.done).toBeLessThan(70)
  const struckAt = performance.now()

  await until('the close of the cycle', async () => (await closedAt(estate, cycle.key)) !== null, 300)
  await until(
    'the end of all work',
    async () => {
      const lines = [...(await witnesses.lines()).values()]
      const mails = await witnesses.mails()
      const notifications = await witnesses.notifications()
      return (
        lines.every(({ open }) => open === 0) &&
        (await witnesses.requestsLeft()) === 0 &&
        mails.every(({ status }) => status === 'sent') &&
        notifications.every(({ mail_id }) => mail_id !== null) &&
        (await witnesses.running('suspend-on-overage')) === 0
      )
    },
    300,
  )
  console.log(`all work ended ${Math.round((performance.now() - struckAt) / 1000)} s after`)

  const tickets = await witnesses.tickets()
  const journal = await witnesses.carrier(new Set(sims.map(({ iccid }) => iccid)))
  const kindsOf = (sim: Sim) => tickets.filter(({ simId }) => simId === sim.id)
  const done = (sim: Sim) => journal.filter(({ iccid, outcome }) => iccid === sim.iccid && outcome === 'done')
  expect(tickets.filter(({ status }) => status !== 'complete')).toEqual([])
  expect(sims.map((sim) => kindsOf(sim).map(({ kind }) => kind))).toEqual(sims.map(({ group }) => TICKETS[group]))
  expect(sims.map((sim) => done(sim).map(({ operation }) => operation))).toEqual(
    sims.map(({ group }) => EFFECTS[group]),
  )
  expect(sims.map((sim) => done(sim).map(({ ticketId }) => ticketId))).toEqual(
    sims.map((sim) => kindsOf(sim).map(({ id }) => id)),
  )
  expect(journal.filter(({ outcome }) => outcome === 'already' || outcome === 'refused')).toEqual([])

  const states = await sources.rows<{ id: string; status: number; pool_id: number | null; queued: boolean }>(
    'select id, status, pool_id, pending_since is not null as queued from sims where tenant_id = $1 order by id',
    [tenantId],
  )
  const late = states.find(({ id }) => Number(id) === sims.at(-1)?.id)?.pool_id
  const where = { moved: [1, estate.target], leaving: [0, null], suspended: [1, late] }
  expect(states.map(({ status, pool_id }) => [status, pool_id])).toEqual(sims.map(({ group }) => where[group]))
  expect(states.filter(({ queued }) => queued)).toEqual([])
  expect((await witnesses.suspensions()).filter(({ open }) => open)).toEqual([])
  const boundary = new Date(cycle.endsAt)
  const ended = await sources.rows<{ sim_id: string; to_at: Date }>(
    'select sim_id, to_at from memberships where tenant_id = $1 and to_at is not null order by sim_id',
    [tenantId],
  )
  expect(ended.map(({ sim_id, to_at }) => [Number(sim_id), to_at])).toEqual(
    sims.filter(({ group }) => group !== 'suspended').map(({ id }) => [id, boundary]),
  )

  const result = await sources.temporal.getHandle(monthEndId(tenantId, cycle.key)).result()
  expect(result).toMatchObject({ moved: 60, unassigned: 20, changesFailed: 0, renewed: 14, statement: true })
  // Temporal's lists of workflows lag a little.
  await soon(async () => {
    const runs = new Map((await witnesses.runs()).map((run) => [run.workflowId, run]))
    expect(runs.get(monthEndId(tenantId, cycle.key))).toMatchObject({ status: 'COMPLETED' })
    for (const sim of sims.filter(({ group }) => group === 'suspended')) {
      expect(runs.get(suspendOnOverageId(tenantId, sim.id, cycle.key))).toMatchObject({ where: 'renewed' })
    }
  })

  const lines = await sources.rows<{ times: number }>(
    `select count(*)::integer as times from statements
      where tenant_id = $1 and cycle_key = $2 group by kind, pool_id, sim_id having count(*) > 1`,
    [tenantId, cycle.key],
  )
  expect(lines).toEqual([])
  const summaries = (await witnesses.notifications()).filter(({ key }) => key === `summary/${cycle.key}`)
  expect(summaries).toHaveLength(1)
  // The new cycle may have notifications by now, whose mail is still to arrive.
  await soon(async () => {
    const mails = await witnesses.mails()
    const received = (await service.mails()).filter(({ to }) => to.includes('month@meadow.example'))
    expect(new Set(received.map(({ headers }) => headers['message-id']))).toEqual(new Set(mails.map(({ id }) => id)))
  })
})
