import { describe, expect, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { DAY, HOUR, MINUTE, SECOND, useSuspensions } from './harness.ts'

describeInSkippedTime('updates of suspend-on-overage', (path) => {
  const run = useSuspensions(path)
  const { start, reach, startHeld, signal, update, until, state, result, actions, sim, tickets } = run
  const iso = (at: number) => new Date(at).toISOString()
  const isRefused = (asked: Promise<unknown>, detail: RegExp) =>
    expect(asked).rejects.toMatchObject({ code: 'update_refused', message: expect.stringMatching(detail) })

  describe('resume', () => {
    test.each([
      ['grace', { grace: 'P2D' }, 'idle', []],
      ['suspended', {}, 'activating', ['suspend:2', 'activate:2']],
    ] as const)('ends suspensions for the cycle in phase %s', async (phase, more, next, done) => {
      await reach(phase, more)
      expect(await update('resume', {})).toEqual({
        phase: next,
        graceEndsAt: null,
        until: 'renewal',
        reason: expect.stringMatching(/^a person resumes the SIM: .*not suspended/),
      })
      expect(await result()).toMatchObject({ outcome: 'resumed' })
      expect(tickets()).toEqual(done)
      expect(sim()?.status).toBe(1)
      expect(await start('overLimit')).toMatchObject({ status: 'completed', started: false })
    })

    test('ends the run while the SIM is Active', async () => {
      run.model.overLimit = false
      await reach('idle')

      expect(await update('resume', {})).toMatchObject({ phase: 'idle' })
      expect(await result()).toMatchObject({ outcome: 'resumed', suspended: 0 })
    })

    test('cancels a Pending suspend ticket', async () => {
      await startHeld('pending')

      expect(await update('resume', {})).toMatchObject({ phase: 'suspending' })
      expect(await result()).toMatchObject({ outcome: 'resumed', suspended: 0 })
      expect(tickets()).toEqual(['suspend:4'])
    })

    test('undoes a suspend ticket that is Processing', async () => {
      await startHeld('processing')

      expect(await update('resume', {})).toMatchObject({ phase: 'suspending' })
      await soon(() => expect(run.model.calls('DELETE')).toBe(1))
      run.model.processing.clear()
      expect(await result()).toMatchObject({ outcome: 'resumed', suspended: 1, broughtBack: 1 })
      expect(sim()?.status).toBe(1)
    })

    test('ends suspensions while the SIM is already returning', async () => {
      await reach('suspended')
      run.model.processing.add('activate')
      await signal('cleared')
      await until('activating')

      expect(await update('resume', {})).toMatchObject({ phase: 'activating' })
      run.model.processing.clear()
      expect(await result()).toMatchObject({ outcome: 'resumed', broughtBack: 1 })
    })

    test('brings back a manual suspension', async () => {
      await reach('suspended', { until: 'manual' })

      expect(await update('resume', {})).toMatchObject({ phase: 'activating', until: 'manual' })
      expect(await result()).toMatchObject({ outcome: 'resumed', broughtBack: 1 })
    })

    test('is refused after a person’s act or a cancel', async () => {
      await startHeld('processing')
      await signal('personActed')
      await isRefused(update('resume', {}), /a person has acted on the SIM/)
      await run.cancel()
      await soon(() => isRefused(update('resume', {}), /is being cancelled/))
      run.model.processing.clear()
      await expect(result()).rejects.toThrow()

      await expect(update('resume', {})).rejects.toMatchObject({ code: 'workflow_not_running' })
    })
  })

  describe('keepSuspended', () => {
    const recorded = () => sim()?.suspension?.until

    test('keeps the SIM suspended over the month end', async () => {
      await reach('suspended')
      expect(await update('keepSuspended', {})).toEqual({
        phase: 'suspended',
        graceEndsAt: null,
        until: 'manual',
        reason: 'a person keeps it suspended beyond the renewal, until a person acts',
      })
      await soon(() => expect(recorded()).toBe('manual'))
      await soon(async () =>
        expect((await state()).waitsFor).toMatchObject({ what: expect.stringMatching(/^a person/) }),
      )
      await signal('cleared')

      expect(await result()).toMatchObject({ outcome: 'manual', suspended: 1, broughtBack: 0 })
      expect(await run.harness.env.currentTimeMs()).toBeGreaterThanOrEqual(run.endsAt)
      expect(sim()?.status).toBe(2)
      expect(tickets()).toEqual(['suspend:2'])
    })

    test('holds against a simultaneous renewal once recorded', async () => {
      await reach('suspended')
      await Promise.all([update('keepSuspended', {}), signal('renewed')]).catch(() => {})

      const { outcome } = await result()
      expect([outcome, sim()?.status]).toEqual(recorded() === 'manual' ? ['manual', 2] : ['renewed', 1])
    })

    test('lets the SIM return at renewal when reversed', async () => {
      await reach('suspended')
      await update('keepSuspended', { until: 'manual' })
      expect(await update('keepSuspended', { until: 'renewal' })).toMatchObject({
        phase: 'suspended',
        until: 'renewal',
      })
      await soon(() => expect(recorded()).toBe('renewal'))
      await signal('renewed')

      expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1 })
    })

    test('brings the SIM back when reversed after month end', async () => {
      const endsAt = (await run.harness.env.currentTimeMs()) + 12 * SECOND
      await reach('suspended', { cycleEndsAt: iso(endsAt) })
      await update('keepSuspended', {})
      await soon(() => expect(recorded()).toBe('manual'))
      const { promise: mayRecord, resolve: record } = Promise.withResolvers<void>()
      run.model.before = (line) => (line.startsWith('PATCH') ? mayRecord : Promise.resolve())
      await update('keepSuspended', { until: 'renewal' })
      await soon(async () => expect(await run.harness.env.currentTimeMs()).toBeGreaterThan(endsAt))
      record()

      expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1 })
      expect(sim()?.status).toBe(1)
    })

    test('brings back a cleared SIM at once when reversed', async () => {
      await reach('suspended')
      await update('keepSuspended', {})
      await signal('cleared')
      await until('suspended')
      expect(sim()?.status).toBe(2)
      await update('keepSuspended', { until: 'renewal' })
      await until('idle')

      expect(sim()?.status).toBe(1)
    })

    test('applies to the suspension under way, not later ones', async () => {
      await startHeld('processing')
      expect(await update('keepSuspended', {})).toMatchObject({ phase: 'suspending', until: 'manual' })
      run.model.processing.clear()
      await soon(() => expect(recorded()).toBe('manual'))
      await update('keepSuspended', { until: 'renewal' })
      await signal('cleared')
      await until('idle')
      await signal('overLimit')

      expect(await until('suspended')).toMatchObject({ until: 'renewal' })
      expect(recorded()).toBe('renewal')
    })

    test('turns a manual suspension into one until renewal', async () => {
      await reach('suspended', { until: 'manual' })
      await update('keepSuspended', { until: 'renewal' })
      await signal('renewed')

      expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1 })
    })

    test('is refused when the SIM is not suspended', async () => {
      await reach('grace', { grace: 'P2D' })
      await isRefused(update('keepSuspended', {}), /not suspended by this workflow \(phase grace\)/)
      await signal('cleared')
      await until('idle')
      await isRefused(update('keepSuspended', {}), /\(phase idle\)/)
    })
  })

  describe('extendGrace', () => {
    const begin = async (grace = 'P2D') => {
      const { graceEndsAt } = await reach('grace', { grace })
      return Date.parse(graceEndsAt ?? '')
    }

    test('moves the end and warns again before it', async () => {
      const first = await begin()
      const moved = first + 12 * HOUR
      expect(await update('extendGrace', { by: 'PT12H' })).toEqual({
        phase: 'grace',
        graceEndsAt: iso(moved),
        until: 'renewal',
        reason: `a person has extended the grace period to ${iso(moved)}`,
      })
      await run.harness.leap(moved - HOUR - MINUTE - (await run.harness.env.currentTimeMs()))
      expect(actions()).toEqual(['graceStarted/0'])
      await run.harness.leap(2 * MINUTE)
      await soon(() => expect(actions()).toEqual(['graceStarted/0', 'graceEnding/0']))
      await update('extendGrace', { until: iso(moved + DAY) })
      await run.harness.leap(DAY)
      await soon(() => expect(actions()).toEqual(['graceStarted/0', 'graceEnding/0', 'graceEnding/1']))
      expect(tickets()).toEqual([])
      expect(run.model.actions.at(-1)?.['detail']).toBe(`suspended at ${iso(moved + DAY)}`)
      await run.harness.leap(HOUR + SECOND)

      await until('suspended')
    })

    test('refuses an end after the billing cycle', async () => {
      await begin()
      const beyond = new RegExp(`after the billing cycle: ask for ${iso(run.endsAt)} at the latest`)
      await isRefused(update('extendGrace', { by: 'P30D' }), beyond)
      await isRefused(update('extendGrace', { until: iso(run.endsAt + 1) }), beyond)
      await isRefused(update('extendGrace', { by: 'P999999999999D' }), beyond)
      await isRefused(
        update('extendGrace', { until: '2026-12-31T23:59:60Z' }),
        /no instant there is: ask for a later end/,
      )
      expect(await update('extendGrace', { until: iso(run.endsAt) })).toMatchObject({ graceEndsAt: iso(run.endsAt) })

      expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
      expect(tickets()).toEqual([])
    })

    test('needs a running grace and a later end', async () => {
      const end = await begin()
      const later = /ends at .* already; got .*: ask for a later end/
      await isRefused(update('extendGrace', { by: 'PT0S' }), later)
      await isRefused(update('extendGrace', { until: iso(end - SECOND) }), later)
      await signal('cleared')
      await until('idle')

      await isRefused(update('extendGrace', { by: 'PT1H' }), /no grace period runs \(phase idle\)/)
    })
  })

  test('are idempotent under one update id', async () => {
    await start('overLimit', { grace: 'P2D' })
    const end = Date.parse((await until('grace')).graceEndsAt ?? '')
    const first = await update('extendGrace', { by: 'PT1H' }, 'the same')

    expect(await update('extendGrace', { by: 'PT1H' }, 'the same')).toEqual(first)
    expect(await state()).toMatchObject({ graceEndsAt: iso(end + HOUR) })
    expect((await state()).steps.filter(({ step }) => step === 'extendGrace')).toHaveLength(1)
  })

  test('take effect one after the other', async () => {
    await start('overLimit', { grace: 'P2D' })
    const end = Date.parse((await until('grace')).graceEndsAt ?? '')
    const both = await Promise.all([update('extendGrace', { by: 'PT1H' }), update('extendGrace', { by: 'PT2H' })])
    expect(
      both
        .map(({ graceEndsAt }) => graceEndsAt)
        .toSorted()
        .at(-1),
    ).toBe(iso(end + 3 * HOUR))

    const tooMuch = await Promise.allSettled([
      update('extendGrace', { by: 'P20D' }),
      update('extendGrace', { by: 'P20D' }),
    ])
    expect(tooMuch.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const opposed = await Promise.allSettled([update('resume', {}), update('extendGrace', { by: 'PT1H' })])
    expect(opposed[0]?.status).toBe('fulfilled')
    expect(await result()).toMatchObject({ outcome: 'resumed' })
  })

  test('leave nothing in the history when refused', async () => {
    await reach('suspended')
    await expect(update('extendGrace', { by: 'PT1H' })).rejects.toMatchObject({ code: 'update_refused' })
    await update('keepSuspended', {})

    const { events = [] } = await run.harness.handleOf(run.id).fetchHistory()
    const accepted = events?.map((event) => event.workflowExecutionUpdateAcceptedEventAttributes).filter(Boolean)
    expect(accepted?.map((each) => each?.acceptedRequest?.input?.name)).toEqual(['keepSuspended'])
  })
})
