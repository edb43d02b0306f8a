import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type SuspendOnOverageInput,
  type SuspendOnOverageResult,
  type SuspendSignal,
  suspendOnOverageId,
} from '../../domain/lifecycle.ts'
import { requireJava } from '../setup/requirements.ts'
import { clear, type SkippingHouse, startSkippingHouse } from './house.ts'
import { aSim, TENANT, WAITS } from './service-model.ts'

const path = requireJava('suspend-on-overage in skipped time')
const DAY = 86_400_000

describe.skipIf(path === undefined)('suspend-on-overage', () => {
  let house: SkippingHouse
  let cycle = 0
  let id = ''
  let endsAt = 0
  beforeAll(async () => {
    house = await startSkippingHouse(path ?? '')
  })
  afterAll(() => house?.close())
  // A run that a test leaves behind would work on the SIM of the next. Terminated while an activity runs, it
  // would keep the server from skipping time.
  afterEach(async () => {
    house.model.pending.clear()
    house.model.processing.clear()
    await house.lifecycle.cancel(id).catch(() => undefined)
    await result().catch(() => undefined)
  })
  beforeEach(async () => {
    clear(house.model)
    house.model.sims.set(1, aSim())
    cycle += 1
    id = suspendOnOverageId(TENANT, 1, `c${cycle}`)
    endsAt = (await house.env.currentTimeMs()) + 31 * DAY
  })

  const inputOf = (more: Partial<SuspendOnOverageInput> = {}): SuspendOnOverageInput => ({
    tenantId: TENANT,
    simId: 1,
    cycleKey: `c${cycle}`,
    cycleEndsAt: new Date(endsAt).toISOString(),
    rule: 'sim-overage',
    ruleFile: 'rules/sim/sim-overage.json',
    grace: 'PT0S',
    until: 'renewal',
    waits: WAITS,
    ...more,
  })
  const ask = (signal: SuspendSignal, more: Partial<SuspendOnOverageInput> = {}) =>
    house.lifecycle.signalWithStart({
      do: 'signalWithStart',
      type: 'suspend-on-overage',
      workflowId: id,
      input: inputOf(more),
      signal,
    })
  const signal = (name: SuspendSignal) => house.lifecycle.signal(id, name)
  const until = (phase: string) => house.untilState(id, { phase })
  const result = (): Promise<SuspendOnOverageResult> => house.handleOf(id).result()
  const actions = () => house.model.actionsOf(`c${cycle}`)
  const sim = () => house.model.sims.get(1)

  test('suspends at once without grace, and brings the SIM back with the next cycle', async () => {
    await ask('overLimit')
    await until('suspended')
    expect(sim()).toMatchObject({ status: 2, suspension: { cause: 'watchdog', workflowId: id } })
    await signal('renewed')

    expect(await result()).toEqual({ outcome: 'renewed', suspended: 1, broughtBack: 1, failure: null })
    expect(sim()?.status).toBe(1)
    expect(house.model.tickets.at(-1)?.body['effectiveAt']).toBe(inputOf().cycleEndsAt)
    expect(actions()).toEqual(['suspended/0', 'broughtBack/0'])
  })

  test('takes six activities from the first signal to the return, the look at the SIM included', async () => {
    await ask('overLimit')
    await until('suspended')
    await signal('renewed')
    await result()

    const { events } = await house.handleOf(id).fetchHistory()
    expect(events?.filter((event) => event.activityTaskScheduledEventAttributes)).toHaveLength(6)
    expect(house.model.calls('/enforcement')).toBe(1)
  })

  test('waits the grace out and warns at its start and before its end', async () => {
    await ask('overLimit', { grace: 'P2D' })
    await until('grace')
    await house.env.sleep(47 * 3_600_000 + 60_000)
    await vi.waitFor(() => expect(actions()).toEqual(['graceStarted/0', 'graceEnding/0']))
    expect(house.model.tickets).toEqual([])
    await house.env.sleep(3_600_000)

    await until('suspended')
    expect(sim()?.status).toBe(2)
  })

  test.each([
    ['cleared', 'idle'],
    ['standDown', 'idle'],
  ] as const)('%s in the grace releases the SIM, and overLimit arms it again', async (name, phase) => {
    await ask('overLimit', { grace: 'P2D' })
    await until('grace')
    await signal(name)
    await until(phase)
    await vi.waitFor(() => expect(actions()).toEqual(['graceStarted/0', 'released/0']))

    await signal('overLimit')
    await until('grace')
    expect(house.model.tickets).toEqual([])
  })

  test.each([
    ['cleared', 'idle'],
    ['standDown', 'idle'],
    ['renewed', 'released'],
    ['resume', 'resumed'],
    ['personActed', 'personActed'],
  ] as const)('%s while the suspend ticket is Pending takes it back', async (name, expected) => {
    house.model.pending.add('suspend')
    await ask('overLimit')
    await vi.waitFor(() => expect(house.model.ticketsOf(1)).toEqual(['suspend:0']))
    await until('suspending')
    await signal(name)
    await vi.waitFor(() => expect(house.model.ticketsOf(1)).toEqual(['suspend:4']), 10_000)

    if (expected === 'idle') await until('idle')
    else expect(await result()).toMatchObject({ outcome: expected, suspended: 0 })
    expect(sim()?.status).toBe(1)
  })

  test.each([
    ['cleared', ['suspend:2', 'activate:2'], 1],
    ['renewed', ['suspend:2', 'activate:2'], 1],
    ['resume', ['suspend:2', 'activate:2'], 1],
    ['standDown', ['suspend:2'], 2],
    ['personActed', ['suspend:2'], 2],
  ] as const)('%s while the suspend ticket is Processing waits for its end', async (name, tickets, status) => {
    house.model.processing.add('suspend')
    await ask('overLimit')
    await vi.waitFor(() => expect(house.model.ticketsOf(1)).toEqual(['suspend:1']))
    await signal(name)
    await vi.waitFor(() => expect(house.model.calls('DELETE')).toBe(1))
    house.model.processing.clear()

    await vi.waitFor(() => expect(house.model.ticketsOf(1)).toEqual(tickets), 10_000)
    expect(sim()?.status).toBe(status)
  })

  test('a raised limit brings the SIM back within the cycle, and a new overage suspends it again', async () => {
    await ask('overLimit')
    await until('suspended')
    await signal('cleared')
    await until('idle')
    expect(sim()?.status).toBe(1)
    await signal('overLimit')
    await until('suspended')
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'renewed', suspended: 2, broughtBack: 2 })
    expect(actions()).toEqual(['suspended/0', 'broughtBack/0', 'suspended/1', 'broughtBack/1'])
  })

  test('resume and a raised limit at once bring the SIM back once, and not again this cycle', async () => {
    await ask('overLimit')
    await until('suspended')
    await Promise.all([signal('resume'), signal('cleared')])

    expect(await result()).toMatchObject({ outcome: 'resumed', broughtBack: 1 })
    expect(await ask('overLimit')).toMatchObject({ status: 'completed', started: false })
    expect(house.model.ticketsOf(1)).toEqual(['suspend:2', 'activate:2'])
  })

  test('standing down leaves a suspended SIM as it is; the renewal still brings it back', async () => {
    await ask('overLimit')
    await until('suspended')
    await signal('standDown')
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1 })
  })

  test("a person's own act on a suspended SIM ends the run and leaves the SIM alone", async () => {
    await ask('overLimit')
    await until('suspended')
    await signal('personActed')

    expect(await result()).toMatchObject({ outcome: 'personActed', broughtBack: 0 })
    expect(house.model.ticketsOf(1)).toEqual(['suspend:2'])
  })

  test('a suspension until a person acts stays when the cycle ends', async () => {
    await ask('overLimit', { until: 'manual' })
    await until('suspended')
    await signal('cleared')

    expect(await result()).toMatchObject({ outcome: 'manual', suspended: 1, broughtBack: 0 })
    expect(await house.env.currentTimeMs()).toBeGreaterThanOrEqual(endsAt)
    expect(sim()?.status).toBe(2)
  })

  test('a grace that would end after the cycle is released by its end', async () => {
    await ask('overLimit', { grace: 'P40D' })

    expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
    expect(house.model.tickets).toEqual([])
  })

  test('a ticket that is Processing when the cycle ends is waited for, and the SIM comes back', async () => {
    house.model.processing.add('suspend')
    await ask('overLimit', { cycleEndsAt: new Date((await house.env.currentTimeMs()) + 1500).toISOString() })
    await vi.waitFor(() => expect(house.model.ticketsOf(1)).toEqual(['suspend:1']))
    await new Promise((done) => setTimeout(done, 1600))
    house.model.processing.clear()

    expect(await result()).toMatchObject({ outcome: 'renewed', suspended: 1, broughtBack: 1 })
  })

  test.each([
    ['not over any more', { overLimit: false }],
    ['in Monitor mode', { mode: 1 }],
    ['exempt', { exempt: true }],
  ])('does not suspend a SIM that is %s when looked at again', async (_, knobs) => {
    Object.assign(house.model, knobs)
    await ask('overLimit')
    await vi.waitFor(() => expect(house.model.calls('/enforcement')).toBe(1))
    await until('idle')

    expect(house.model.tickets).toEqual([])
  })

  test('steps back from a SIM that a person has suspended', async () => {
    house.model.sims.set(1, aSim({ status: 2, suspension: { cause: 'user', workflowId: null, until: 'manual' } }))
    await ask('overLimit')

    expect(await result()).toMatchObject({ outcome: 'personActed', suspended: 0 })
    expect(house.model.tickets).toEqual([])
  })

  test('a failed suspension is logged and tried again after a pause', async () => {
    house.model.failing.set('suspend', 'carrier_rejected')
    await ask('overLimit')
    await vi.waitFor(() => expect(actions()).toEqual(['suspendFailed/0']), 5000)
    house.model.failing.clear()
    await house.env.sleep(61_000)

    await until('suspended')
    expect(house.model.ticketsOf(1)).toEqual(['suspend:3', 'suspend:2'])
  })

  test('a failed activation is tried again until the SIM is back', async () => {
    await ask('overLimit')
    await until('suspended')
    house.model.failing.set('activate', 'carrier_rejected')
    await signal('renewed')
    await vi.waitFor(() => expect(house.model.ticketsOf(1)).toEqual(['suspend:2', 'activate:3']), 5000)
    house.model.failing.clear()

    expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1, failure: null })
  })

  test('a SIM that was unassigned meanwhile is released', async () => {
    await ask('overLimit')
    await until('suspended')
    house.model.sims.set(1, aSim({ status: 0 }))
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'released', broughtBack: 0 })
  })

  test.each([
    ['grace', { grace: 'P2D' }, undefined, 1, []],
    ['suspended', {}, undefined, 2, ['suspend:2']],
    ['suspending', {}, 'pending', 1, ['suspend:4']],
    ['suspending', {}, 'processing', 2, ['suspend:2']],
  ] as const)('cancelled in %s (%o, %s) it leaves the SIM as it is', async (phase, more, hold, status, tickets) => {
    if (hold !== undefined) house.model[hold].add('suspend')
    await ask('overLimit', more)
    await until(phase)
    if (hold !== undefined) await vi.waitFor(() => expect(house.model.tickets).toHaveLength(1))
    await house.lifecycle.cancel(id)
    if (hold === 'processing') await vi.waitFor(() => expect(house.model.calls('DELETE')).toBe(1))
    if (hold === 'processing') house.model.processing.clear()
    await vi.waitFor(async () => expect((await house.lifecycle.describe(id, TENANT)).status).toBe('cancelled'), 10_000)

    expect(sim()?.status).toBe(status)
    expect(house.model.ticketsOf(1)).toEqual(tickets)
    expect((await house.lifecycle.describe(id, TENANT)).result).toMatchObject({ outcome: 'cancelled' })
  })

  test('a signal that is there before its workflow is heeded', async () => {
    await ask('cleared')
    await until('idle')

    expect(house.model.calls('/enforcement')).toBe(0)
  })
})
