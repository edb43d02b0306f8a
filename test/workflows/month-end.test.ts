import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  enforcePoolId,
  type MonthEndInput,
  monthEndId,
  monthEndPlanId,
  suspendOnOverageId,
} from '../../domain/lifecycle.ts'
import { requireJava } from '../setup/requirements.ts'
import { clear, type SkippingHouse, startSkippingHouse } from './house.ts'
import { aSim, TENANT, WAITS } from './service-model.ts'

const path = requireJava('month end and pool enforcement in skipped time')
const HOUR = 3_600_000

describe.skipIf(path === undefined)('month end and pool enforcement', () => {
  let house: SkippingHouse
  let n = 0
  let cycleKey = ''
  let endsAt = 0
  beforeAll(async () => {
    house = await startSkippingHouse(path ?? '')
  })
  afterAll(() => house?.close())
  beforeEach(async () => {
    clear(house.model)
    n += 1
    cycleKey = `m${n}`
    endsAt = (await house.env.currentTimeMs()) + HOUR
    house.model.cycles.push({ key: cycleKey, endsAt: new Date(endsAt).toISOString(), closedAt: null })
  })

  const monthEnd = (more: Partial<MonthEndInput> = {}) =>
    house.start('month-end-reprovision', monthEndId(TENANT, cycleKey), {
      tenantId: TENANT,
      cycleKey,
      cycleEndsAt: new Date(endsAt).toISOString(),
      closeAfter: 'PT6H',
      pageSize: 2,
      parallel: 2,
      waits: WAITS,
      ...more,
    } satisfies MonthEndInput)
  const suspended = (simId: number) =>
    house.untilState(suspendOnOverageId(TENANT, simId, cycleKey), { phase: 'suspended' })
  const suspend = async (simId: number) => {
    const input = {
      tenantId: TENANT,
      simId,
      cycleKey,
      cycleEndsAt: new Date(endsAt).toISOString(),
      rule: 'r',
      ruleFile: 'r.json',
      grace: 'PT0S',
      until: 'renewal',
      waits: WAITS,
    } as const
    const workflowId = suspendOnOverageId(TENANT, simId, cycleKey)
    await house.lifecycle.signalWithStart({
      do: 'signalWithStart',
      type: 'suspend-on-overage',
      workflowId,
      input,
      signal: 'overLimit',
    })
    await suspended(simId)
  }

  test('applies what is queued page by page, unassignments first, at the boundary', async () => {
    for (const id of [1, 2, 3])
      house.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    for (const id of [4, 5, 6])
      house.model.sims.set(id, aSim({ change: { poolId: null, tariffId: null, unassign: true } }))

    const result = await (await monthEnd()).result()

    expect(result).toEqual({
      step: 'done',
      afterSimId: 0,
      moved: 3,
      unassigned: 3,
      changesFailed: 0,
      renewed: 0,
      statement: true,
    })
    expect(house.model.tickets.map((t) => t.kind)).toEqual([
      ...Array(3).fill('unassign'),
      ...Array(3).fill('provision'),
    ])
    expect(house.model.tickets.map((t) => t.body['effectiveAt'])).toEqual(Array(6).fill(new Date(endsAt).toISOString()))
    expect(house.model.tickets.at(-1)?.body).toMatchObject({ poolId: 9, cause: { by: 'month-end', cycle: cycleKey } })
    expect([...house.model.sims.values()].map((sim) => sim.status)).toEqual([1, 1, 1, 0, 0, 0])
  })

  test('waits for the end of the cycle, and closes it closeAfter later', async () => {
    await (await monthEnd()).result()

    expect(await house.env.currentTimeMs()).toBeGreaterThanOrEqual(endsAt + 6 * HOUR)
    expect(house.model.closed).toEqual([{ key: cycleKey, moved: 0, unassigned: 0, changesFailed: 0, renewed: 0 }])
  })

  test('a change that fails is reported, stays queued and stops no other', async () => {
    for (const id of [1, 2, 3])
      house.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    house.model.failing.set('provision/2', 'carrier_rejected')

    expect(await (await monthEnd()).result()).toMatchObject({ moved: 2, changesFailed: 1 })
    expect(house.model.changesFailed).toMatchObject([
      { simId: 2, code: 'carrier_rejected', ticketId: expect.any(String) },
    ])
    expect(house.model.sims.get(2)?.change).not.toBeNull()
  })

  test('a change whose ticket is cancelled is reported with its code', async () => {
    house.model.sims.set(1, aSim({ status: 1, change: { poolId: null, tariffId: null, unassign: true } }))
    house.model.sims.set(2, aSim({ change: { poolId: null, tariffId: null, unassign: true } }))
    house.model.pending.add('unassign')
    await monthEnd({ cycleEndsAt: new Date(endsAt - HOUR).toISOString() })
    await vi.waitFor(() => expect(house.model.tickets).toHaveLength(2), 5000)
    for (const ticket of house.model.tickets) ticket.status = 4
    house.model.pending.clear()

    const result = await house.handleOf(monthEndId(TENANT, cycleKey)).result()
    expect(result).toMatchObject({ unassigned: 0, changesFailed: 2 })
    expect(house.model.changesFailed.map(({ code }) => code)).toEqual(['ticket_cancelled', 'ticket_cancelled'])
  })

  test('brings back what the watchdog suspended, with or without a running workflow; what a person suspended stays', async () => {
    for (const id of [1, 2]) house.model.sims.set(id, aSim())
    await suspend(1)
    const gone = { cause: 'watchdog', workflowId: 'suspend-on-overage:acme:2:gone', until: 'renewal' } as const
    house.model.sims.set(2, aSim({ status: 2, suspension: gone }))
    house.model.sims.set(3, aSim({ status: 2, suspension: { cause: 'user', workflowId: null, until: 'manual' } }))
    house.model.sims.set(4, aSim({ status: 2, suspension: { cause: 'watchdog', workflowId: null, until: 'manual' } }))

    const result = await (await monthEnd()).result()

    expect(result).toMatchObject({ renewed: 2 })
    expect(await house.handleOf(suspendOnOverageId(TENANT, 1, cycleKey)).result()).toMatchObject({ outcome: 'renewed' })
    expect([...house.model.sims.values()].map((sim) => sim.status)).toEqual([1, 1, 2, 2])
  })

  test('run a second time for its cycle answers with the first', async () => {
    await (await monthEnd()).result()
    await monthEnd()

    expect(house.model.closed).toHaveLength(1)
    expect(house.model.renewals).toBe(1)
  })

  test('tells its progress while it runs', async () => {
    house.model.sims.set(1, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    house.model.pending.add('provision')
    await monthEnd({ cycleEndsAt: new Date(endsAt - HOUR).toISOString() })

    await house.untilState(monthEndId(TENANT, cycleKey), { step: 'move', moved: 0 })
    house.model.pending.clear()
    expect(await house.handleOf(monthEndId(TENANT, cycleKey)).result()).toMatchObject({ step: 'done', moved: 1 })
  })

  test('goes on behind its progress when it has continued as new', async () => {
    for (const id of [1, 2]) house.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    const progress = { step: 'move', afterSimId: 1, moved: 5, unassigned: 4, changesFailed: 3, renewed: 0 } as const

    expect(await (await monthEnd({ progress })).result()).toMatchObject({ moved: 6, unassigned: 4, changesFailed: 3 })
    expect(house.model.ticketsOf(1)).toEqual([])
  })

  test('a dry run answers the plan and touches nothing', async () => {
    house.model.sims.set(1, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    const handle = await house.start('month-end-plan', monthEndPlanId(TENANT, cycleKey, 1), {
      tenantId: TENANT,
      cycleKey,
    })

    expect(await handle.result()).toEqual({ cycle: cycleKey, changes: 1 })
    expect(house.model.requests.filter((line) => !line.startsWith('GET'))).toEqual([])
  })

  describe('enforce-pool', () => {
    const poolId = 7
    const ask = (signal: 'overLimit' | 'cleared' | 'standDown') =>
      house.lifecycle.signalWithStart({
        do: 'signalWithStart',
        type: 'enforce-pool',
        workflowId: enforcePoolId(TENANT, poolId, cycleKey),
        input: {
          tenantId: TENANT,
          poolId,
          cycleKey,
          cycleEndsAt: new Date(endsAt).toISOString(),
          rule: 'pool-overage',
          ruleFile: 'r.json',
          target: 'largestExcess',
          grace: 'PT0S',
          until: 'renewal',
        },
        signal,
      })
    const id = () => enforcePoolId(TENANT, poolId, cycleKey)
    const over = (...simIds: number[]) => {
      for (const simId of simIds) house.model.sims.set(simId, aSim())
      house.model.pool.rows = simIds.map((simId) => ({
        simId,
        excessBytes: 10,
        usageBytes: 20,
        shareBytes: 10,
        stopped: false,
        exempt: false,
        weaker: false,
        held: false,
      }))
    }

    test('arms the SIMs its policy picks, and brings them back when the pool is under again', async () => {
      over(1, 2)
      await ask('overLimit')
      await Promise.all([suspended(1), suspended(2)])
      await ask('cleared')

      await vi.waitFor(() => expect([...house.model.sims.values()].map((sim) => sim.status)).toEqual([1, 1]), 10_000)
      expect(await house.untilState(id(), { over: false })).toMatchObject({ armed: [1, 2], rounds: 1 })
    })

    test('picks again each time the pool is found over, and lives until the cycle ends', async () => {
      over(1)
      await ask('overLimit')
      await suspended(1)
      over(1, 2)
      house.model.sims.set(
        1,
        aSim({
          status: 2,
          suspension: { cause: 'watchdog', workflowId: suspendOnOverageId(TENANT, 1, cycleKey), until: 'renewal' },
        }),
      )
      await ask('overLimit')
      await suspended(2)

      expect(await house.handleOf(id()).result()).toMatchObject({ armed: [1, 2], rounds: 2, over: true })
      expect(await ask('overLimit')).toMatchObject({ started: false, status: 'completed' })
    })

    test('arms nobody while the pool is not in Enforce mode', async () => {
      over(1)
      house.model.mode = 1
      await ask('overLimit')

      await house.untilState(id(), { rounds: 1 })
      expect(house.model.calls('/arm')).toBe(0)
    })

    test('tells once that all it may stop does not cover the overage', async () => {
      over(1)
      await ask('overLimit')
      await house.untilState(id(), { rounds: 1, tooLittle: true })
      await ask('overLimit')
      await house.untilState(id(), { rounds: 2, tooLittle: true })
      await suspended(1)

      const told = house.model.actions.filter(({ action }) => action === 'tooLittleToPick')
      expect(told).toMatchObject([{ poolId, cycle: cycleKey, rule: 'pool-overage', counter: 0 }])
      expect(told[0]?.['detail']).toContain('0.001 MB over')
    })

    test('standing down drops the grace of the SIMs it armed', async () => {
      over(1)
      await ask('overLimit')
      await suspended(1)
      await ask('standDown')

      await vi.waitFor(() => expect(house.model.calls('/signals/standDown')).toBe(1), 5000)
      expect(house.model.sims.get(1)?.status).toBe(2)
    })
  })
})
