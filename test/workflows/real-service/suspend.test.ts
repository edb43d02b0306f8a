/** suspend-on-overage on the real service: acts of persons, changes without a signal, and outages. */
import { describe, expect, test } from 'vitest'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { type Customer, useCustomer } from './customer.ts'
import type { RealService } from './service.ts'

const path = requireSkippingServer('suspend-on-overage on the real service in skipped time')
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]

describe.skipIf(path === undefined)('suspend-on-overage on the real service', () => {
  let harness: RealService
  let customer: Customer
  let cycle: Awaited<ReturnType<RealService['skipToMonth']>>
  useCustomer(path, async (all) => {
    ;({ harness, customer } = all)
    cycle = await harness.skipToMonth(10)
  })

  /** A SIM, 50 MB over its limit of 100 MB. It has two days of grace in pool `patient`, none in `plain`. */
  const overLimit = async (pool = 'plain') => {
    const [simId = 0] = await customer.active(1, await customer.pool(pool, await customer.standardTariff(100)))
    await customer.usage(simId, 150)
    return simId
  }
  const inGrace = async () => {
    const simId = await overLimit('patient')
    const { state } = await customer.untilPhase(simId, cycle.key, 'grace')
    return { simId, graceEndsAt: Date.parse(state.graceEndsAt) }
  }
  const suspended = async () => {
    const simId = await overLimit()
    await customer.untilPhase(simId, cycle.key, 'suspended')
    return simId
  }
  const runOf = (simId: number) => customer.workflow(customer.suspensionId(simId, cycle.key))
  const resultOf = async (simId: number) => (await customer.ended(customer.suspensionId(simId, cycle.key))).result
  const isPassedOver = async (simId: number) =>
    (await customer.inside('GET', `/internal/sims/${simId}/enforcement?cycle=${cycle.key}`)).passedOver
  const iso = (at: number) => new Date(at).toISOString()
  const monthEnd = async () => {
    await harness.skipTo(cycle.endsAt)
    return customer.monthEnd(cycle)
  }

  test('suspends a SIM by its own Enforce mode', async () => {
    const poolId = await customer.pool('plain monitored', await customer.standardTariff(100))
    await customer.api('PUT', `/api/pools/${poolId}`, { name: 'plain monitored', watchdogMode: 1 })
    const [own = 0, plain = 0] = await customer.active(2, poolId)
    await customer.inside('PATCH', `/internal/sims/${own}/watchdog`, { watchdogMode: 2 })
    for (const simId of [plain, own]) await customer.usage(simId, 150)

    await customer.untilPhase(own, cycle.key, 'suspended')
    expect(await customer.sim(own)).toMatchObject({ status: 2, watchdogMode: 2 })
    expect(await customer.sim(plain)).toMatchObject({ status: 1, watchdogMode: 1 })
  })

  describe('the last check before a suspension', () => {
    test.each([
      ['not over', (simId: number) => customer.usage(simId, -60, { correction: true })],
      [
        'not enforced',
        (simId: number) => customer.inside('PATCH', `/internal/sims/${simId}/watchdog`, { watchdogMode: 1 }),
      ],
      [
        'exempt',
        (simId: number) => customer.inside('PATCH', `/internal/sims/${simId}/watchdog`, { isWatchdogExempt: true }),
      ],
      ['suspended by a person', (simId: number) => customer.api('POST', '/api/tickets/suspend', { simId })],
      [
        'passed over',
        (simId: number) => customer.inside('POST', '/internal/enforcement/pass-over', { simIds: [simId] }),
      ],
    ])('refuses a SIM that is %s', async (why, change) => {
      const { simId, graceEndsAt } = await inGrace()
      const letGo = harness.pump.hold('workflows')
      await change(simId)
      await harness.skipTo(graceEndsAt + SECOND)

      await soon(async () => {
        const { steps, phase } = (await runOf(simId)).state
        expect(steps.at(-1)).toMatchObject({ step: 'suspend/1', outcome: `not suspended: ${why}` })
        expect(['idle', 'ended']).toContain(phase)
      })
      letGo()
      const byPerson = why === 'suspended by a person'
      expect(await customer.sim(simId)).toMatchObject({ status: byPerson ? 2 : 1 })
      if (!byPerson && why !== 'passed over') return
      expect(await resultOf(simId)).toMatchObject({ outcome: 'personActed', suspended: 0 })
    })
  })

  describe('a person', () => {
    test('keeps a SIM suspended over the month end', async () => {
      const simId = await suspended()
      const response = await customer.update(simId, cycle.key, 'keepSuspended')
      expect(response).toMatchObject({ status: 200, body: { phase: 'suspended', until: 'manual' } })
      await soon(async () => {
        const { suspension } = await customer.inside('GET', `/internal/sims/${simId}/enforcement`)
        expect(suspension).toMatchObject({ cause: 'watchdog', until: 'manual' })
      })

      expect(await monthEnd()).toMatchObject({ renewed: 0 })
      expect(await resultOf(simId)).toMatchObject({ outcome: 'manual', suspended: 1, broughtBack: 0 })
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
      await customer.api('POST', '/api/tickets/activate', { simId })
      await customer.untilSim(simId, { status: 1 })
    })

    test('reverses keepSuspended before the month end', async () => {
      const simId = await suspended()
      await customer.update(simId, cycle.key, 'keepSuspended', { until: 'manual' })
      const response = await customer.update(simId, cycle.key, 'keepSuspended', { until: 'renewal' })
      expect(response.body).toMatchObject({ until: 'renewal' })

      expect(await monthEnd()).toMatchObject({ renewed: 1 })
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
    })

    test('extends a grace and its warning', async () => {
      const { simId, graceEndsAt } = await inGrace()
      await harness.skipTo(graceEndsAt - HOUR + MINUTE)
      await customer.untilLog([...BEGUN, ENDING])
      const beyond = await customer.update(simId, cycle.key, 'extendGrace', { by: 'P30D' })
      expect(beyond).toMatchObject({ status: 409, body: { code: 'update_refused' } })
      expect(beyond.body.detail).toContain(`ask for ${iso(cycle.endsAt)} at the latest`)
      const later = graceEndsAt + DAY
      const response = await customer.update(simId, cycle.key, 'extendGrace', { until: iso(later) })
      expect(response.body).toMatchObject({ phase: 'grace', graceEndsAt: iso(later) })

      await harness.skipTo(graceEndsAt + HOUR)
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
      await harness.skipTo(later - MINUTE)
      await customer.untilLog([...BEGUN, ENDING, ENDING])
      // Without usage for so long the feed would be stale, and suspend nobody.
      await customer.usage(simId, 1)
      await harness.skipTo(later + 2 * HOUR)
      await customer.untilPhase(simId, cycle.key, 'suspended')
      await customer.untilLog([...BEGUN, ENDING, ENDING, '2 SIM was suspended'])
      // A suspension is mailed with others of its cause.
      await harness.skipTo(later + 3 * HOUR)
      const mails = await customer.mails()
      // What is told before the first mail has left shares it.
      const told = /is 50 MB over its limit|has begun|SIM \d+ ends|was suspended/g
      const said = mails.flatMap(({ text }) => (text.match(told) ?? []).map((words) => words.replace(/SIM \d+ /, '')))
      expect(said).toEqual(['is 50 MB over its limit', 'has begun', 'ends', 'ends', 'was suspended'])
      expect(mails.at(-2)?.subject).toContain(`: suspended at ${iso(later).slice(0, 10)} `)
    })

    test('resumes once under one key', async () => {
      const simId = await suspended()
      const first = await customer.update(simId, cycle.key, 'resume', {}, 'resume 1')
      const again = await customer.update(simId, cycle.key, 'resume', {}, 'resume 1')
      const other = await customer.update(simId, cycle.key, 'keepSuspended', {}, 'resume 1')

      expect(first).toMatchObject({ status: 200, body: { phase: 'activating', until: 'renewal', graceEndsAt: null } })
      expect(again).toEqual(first)
      expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
      expect(await resultOf(simId)).toMatchObject({ outcome: 'resumed', broughtBack: 1 })
      const late = await customer.update(simId, cycle.key, 'resume')
      expect(late).toMatchObject({ status: 409, body: { code: 'workflow_not_running' } })
      const { data } = await customer.inside('GET', '/internal/audit?subject=workflow')
      const updates = data.filter(({ action }: { action: string }) => action === 'updateWorkflow')
      expect(updates.map(({ after }: { after: object }) => after)).toContainEqual({ update: 'resume' })
    })

    test('gets 400 for a wrong update', async () => {
      const simId = await suspended()
      const update = (name: string, args: object) => customer.update(simId, cycle.key, name, args)

      expect(await update('wakeUp', {})).toMatchObject({
        status: 400,
        body: { errors: [{ parameter: 'name', detail: "got 'wakeUp', expected resume, keepSuspended, extendGrace" }] },
      })
      expect(await update('extendGrace', {})).toMatchObject({
        status: 400,
        body: { detail: 'give one of by, until; got none' },
      })
      expect(await update('extendGrace', { by: 'PT1H', until: iso(cycle.endsAt) })).toMatchObject({ status: 400 })
      expect(await update('extendGrace', { by: 'an hour' })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/by' }] },
      })
      expect(await update('keepSuspended', { until: 'Tuesday' })).toMatchObject({ status: 400 })
      expect(await update('resume', { now: true })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/now' }] },
      })
    })

    test('takes over a SIM by suspending it in grace', async () => {
      const { simId } = await inGrace()
      await customer.api('POST', '/api/tickets/suspend', { simId })

      expect(await resultOf(simId)).toMatchObject({ outcome: 'personActed', suspended: 0 })
      expect(await monthEnd()).toMatchObject({ renewed: 0 })
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
    })

    test('takes over a SIM that the watchdog suspended', async () => {
      const simId = await suspended()
      await customer.api('POST', '/api/tickets/suspend', { simId })

      expect(await resultOf(simId)).toMatchObject({ outcome: 'personActed', suspended: 1, broughtBack: 0 })
      expect(await monthEnd()).toMatchObject({ renewed: 0 })
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
    })

    test('ends enforcement by cancelling the suspend ticket', async () => {
      const [simId = 0] = await customer.active(1, await customer.pool('plain', await customer.standardTariff(100)))
      const letGo = harness.pump.hold('tickets')
      await customer.usage(simId, 150)
      await customer.untilPhase(simId, cycle.key, 'suspending')
      await soon(async () => expect(await customer.tickets(simId)).toContain('suspend/pending'))
      const { state } = await runOf(simId)
      await customer.api('DELETE', `/api/tickets/${state.suspendTickets[0]}`)

      expect(await resultOf(simId)).toMatchObject({ outcome: 'personActed', suspended: 0 })
      letGo()
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
      expect(await isPassedOver(simId)).toBe(true)
    })

    test('starts one suspension that the month end leaves', async () => {
      const [simId = 0] = await customer.active(1, await customer.pool('other', await customer.standardTariff(100)))
      await customer.usage(simId, 150)
      const start = () =>
        customer.tryInside('POST', '/internal/workflows/suspend-on-overage', { simId, until: 'manual' })
      const first = await start()
      expect(first.status).toBe(202)
      await customer.untilPhase(simId, cycle.key, 'suspended')
      expect(await start()).toEqual({ status: 200, body: first.body })

      expect(await monthEnd()).toMatchObject({ renewed: 0 })
      expect(await resultOf(simId)).toMatchObject({ outcome: 'manual', suspended: 1 })
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
    })

    test('prevents a start by passing the SIM over', async () => {
      const [simId = 0] = await customer.active(1, await customer.pool('held', await customer.standardTariff(100)))
      await customer.inside('POST', '/internal/enforcement/pass-over', { simIds: [simId] })

      const start = await customer.tryInside('POST', '/internal/workflows/suspend-on-overage', { simId })

      expect(start).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
      expect(start.body.detail).toBe(`A person has ended enforcement on SIM ${simId} for cycle ${cycle.key}.`)
    })

    test('retries a cancelled run, which owns its SIM', async () => {
      const simId = await suspended()
      const id = customer.suspensionId(simId, cycle.key)
      await customer.inside('POST', `/internal/workflows/${id}/cancel`)
      expect((await customer.ended(id)).status).toBe('cancelled')
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
      // The SIM is passed over until the retry: no pool picks it in this cycle, and no rule suspends it.
      expect(await isPassedOver(simId)).toBe(true)
      await customer.inside('POST', `/internal/workflows/${id}/retry`)
      expect(await isPassedOver(simId)).toBe(false)
      await customer.untilPhase(simId, cycle.key, 'suspended')

      expect(await monthEnd()).toMatchObject({ renewed: 1 })
      expect(await resultOf(simId)).toMatchObject({ outcome: 'renewed', suspended: 0, broughtBack: 1 })
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
    })
  })

  test('releases a grace that the cycle’s end overtakes', async () => {
    await harness.skipTo(cycle.endsAt - DAY)
    const { simId } = await inGrace()
    await harness.skipTo(cycle.endsAt + MINUTE)

    expect(await resultOf(simId)).toMatchObject({ outcome: 'released', suspended: 0 })
    await customer.untilLog([...BEGUN, '0 SIM was released'])
    expect(await customer.tickets(simId)).toEqual(['provision/complete', 'activate/complete'])
  })

  describe('an outage of the service', () => {
    test('delays suspension and return, and loses nothing', async () => {
      const { simId, graceEndsAt } = await inGrace()
      await harness.skipTo(graceEndsAt - MINUTE)
      // The feed is fresh at the end of the grace.
      await customer.usage(simId, 1)
      harness.line.fateOf = () => 'away'
      await harness.skipTo(graceEndsAt + HOUR)
      expect((await runOf(simId)).state).toMatchObject({ phase: 'suspending', waitsFor: { what: 'the service' } })
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
      harness.line.fateOf = () => 'through'
      await harness.skipTo(graceEndsAt + HOUR + 2 * MINUTE)
      await customer.untilPhase(simId, cycle.key, 'suspended')

      harness.line.fateOf = () => 'away'
      expect((await customer.update(simId, cycle.key, 'resume')).body).toMatchObject({ phase: 'activating' })
      await harness.skipTo((await harness.now()) + HOUR)
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
      harness.line.fateOf = () => 'through'
      await harness.skipTo((await harness.now()) + 2 * MINUTE)
      expect(await resultOf(simId)).toMatchObject({ outcome: 'resumed', suspended: 1, broughtBack: 1 })
      await customer.untilLog([...BEGUN, ENDING, '2 SIM was suspended', '0 SIM was brought back'])
    })

    test.each(['suspend', 'activate'] as const)('opens the %s ticket once beyond its key’s lifetime', async (kind) => {
      let lost = false
      const parts = [`/api/tickets/${kind}`, '/enforcement']
      const fateOf = (line: string) => {
        const opens = line === `POST /api/tickets/${kind}`
        if (opens && !lost) {
          lost = true
          return 'lost'
        }
        return lost && parts.some((part) => line.includes(part)) ? { retryAfter: 3600 } : 'through'
      }
      if (kind === 'suspend') harness.line.fateOf = fateOf
      const simId = await overLimit()
      if (kind === 'activate') {
        await customer.untilPhase(simId, cycle.key, 'suspended')
        harness.line.fateOf = fateOf
        await customer.update(simId, cycle.key, 'resume')
      }
      await customer.untilSim(simId, { status: kind === 'suspend' ? 2 : 1 })
      await soon(() => expect(lost).toBe(true))
      await harness.skipTo((await harness.now()) + 25 * HOUR)
      expect((await runOf(simId)).state.waitsFor).toMatchObject({ what: 'the service' })
      harness.line.fateOf = () => 'through'
      await harness.skipTo((await harness.now()) + 2 * HOUR)

      if (kind === 'suspend') {
        await customer.untilPhase(simId, cycle.key, 'suspended')
        await customer.update(simId, cycle.key, 'resume')
      }
      expect(await resultOf(simId)).toMatchObject({ outcome: 'resumed', suspended: 1, broughtBack: 1 })
      const { iccid } = await customer.sim(simId)
      expect(await harness.carrier.effects(iccid)).toEqual(['provision', 'activate', 'suspend', 'activate'])
      expect(await customer.tickets(simId)).toHaveLength(4)
    })
  })
})

const BEGUN = ['2 SIM is 50 MB over its limit', '1 The grace period of SIM has begun']
const ENDING = '1 The grace period of SIM ends'
