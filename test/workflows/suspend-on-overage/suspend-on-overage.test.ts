import { beforeEach, describe, expect, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { aSim, aSimOfPerson } from '../model/service.ts'
import { SECOND, useSuspensions } from './harness.ts'

describeInSkippedTime('suspend-on-overage', (path) => {
  const run = useSuspensions(path)
  const { start, reach, startHeld, signal, update, until, result, actions, sim } = run

  test('suspends without grace until the renewal', async () => {
    await reach('suspended')
    expect(sim()).toMatchObject({ status: 2, suspension: { cause: 'watchdog', workflowId: run.id } })
    await signal('renewed')

    expect(await result()).toEqual({ outcome: 'renewed', suspended: 1, broughtBack: 1, failure: null })
    expect(sim()?.status).toBe(1)
    expect(run.model.tickets.at(-1)?.body['effectiveAt']).toBe(run.inputOf().cycleEndsAt)
    expect(actions()).toEqual(['suspended/0', 'broughtBack/0'])
  })

  test('warns at the start and before the end of grace', async () => {
    await reach('grace', { grace: 'P2D' })
    await run.harness.leap(47 * 3_600_000 + 60_000)
    await soon(() => expect(actions()).toEqual(['graceStarted/0', 'graceEnding/0']))
    expect(run.model.tickets).toEqual([])
    await run.harness.leap(3_600_000)

    await until('suspended')
    expect(sim()?.status).toBe(2)
  })

  test.each([
    ['cleared', 'idle'],
    ['standDown', 'idle'],
  ] as const)('releases a SIM in grace on %s', async (name, phase) => {
    await reach('grace', { grace: 'P2D' })
    await signal(name)
    await until(phase)
    await soon(() => expect(actions()).toEqual(['graceStarted/0', 'released/0']))

    await signal('overLimit')
    await until('grace')
    expect(run.model.tickets).toEqual([])
  })

  test.each([
    ['cleared', 'idle'],
    ['standDown', 'idle'],
    ['renewed', 'released'],
    ['personActed', 'personActed'],
  ] as const)('cancels a Pending suspend ticket on %s', async (name, expected) => {
    await startHeld('pending')
    await until('suspending')
    await signal(name)
    await soon(() => expect(run.tickets()).toEqual(['suspend:4']))

    if (expected === 'idle') await until('idle')
    else expect(await result()).toMatchObject({ outcome: expected, suspended: 0 })
    expect(sim()?.status).toBe(1)
  })

  test.each([
    ['cleared', ['suspend:2', 'activate:2'], 1],
    ['renewed', ['suspend:2', 'activate:2'], 1],
    ['standDown', ['suspend:2'], 2],
    ['personActed', ['suspend:2'], 2],
  ] as const)('waits for a Processing suspend ticket on %s', async (name, tickets, status) => {
    await startHeld('processing')
    await signal(name)
    await soon(() => expect(run.model.calls('DELETE')).toBe(1))
    run.model.processing.clear()

    await soon(() => expect(run.tickets()).toEqual(tickets))
    expect(sim()?.status).toBe(status)
  })

  /** Has the run cancel its Pending suspend ticket. @returns lets the service do it, which it has been asked for */
  const askedToCancel = async (name: 'cleared' | 'standDown') => {
    const { promise: mayCancel, resolve: letCancel } = Promise.withResolvers<void>()
    run.model.before = async (line) => {
      if (line.startsWith('DELETE /api/tickets/')) await mayCancel
    }
    await startHeld('pending')
    await signal(name)
    await soon(() => expect(run.model.calls('DELETE')).toBe(1))
    return letCancel
  }

  describe.each(['sent', 'lost', 'twice'] as const)('with the signals of tickets’ ends %s', (signals) => {
    beforeEach(() => {
      run.model.signals = signals
    })
    /** Lets the next suspend ticket through, and its signal reach the run. */
    const goOn = () => {
      run.model.pending.clear()
      run.model.signals = 'sent'
    }

    test.each(['cleared', 'standDown'] as const)('suspends anew after %s cancelled its ticket', async (name) => {
      const letCancel = await askedToCancel(name)
      await signal('overLimit')
      letCancel()
      await soon(() => expect(run.tickets()[0]).toBe('suspend:4'))
      goOn()

      await until('suspended')
      expect(run.tickets()).toEqual(['suspend:4', 'suspend:2'])
    })

    test('knows its own cancel though the response is lost', async () => {
      const letCancel = await askedToCancel('cleared')
      await signal('overLimit')
      run.model.lostResponses = 1
      letCancel()
      await soon(() => expect(run.model.calls('DELETE')).toBe(2))
      goOn()

      await until('suspended')
      expect(run.tickets()).toEqual(['suspend:4', 'suspend:2'])
    })
  })

  test('ends when a person cancels its Pending ticket', async () => {
    await startHeld('pending')
    for (const ticket of run.model.tickets) ticket.status = 4

    expect(await result()).toMatchObject({ outcome: 'personActed', suspended: 0 })
  })

  test('opens a new ticket once over the limit again', async () => {
    run.model.pending.add('suspend')
    run.model.lostResponses = 1
    run.model.before = async (line) => {
      if (line.endsWith('/enforcement') && run.model.tickets.length > 0) run.model.overLimit = false
    }
    await start('overLimit')
    await soon(() => expect(run.tickets()).toEqual(['suspend:4']))
    await until('idle')
    run.model.before = async () => {}
    run.model.pending.clear()
    run.model.overLimit = true
    await signal('overLimit')

    await until('suspended')
    expect(run.tickets()).toEqual(['suspend:4', 'suspend:2'])
  })

  test('suspends again after a raised limit brought it back', async () => {
    await reach('suspended')
    await signal('cleared')
    await until('idle')
    expect(sim()?.status).toBe(1)
    await signal('overLimit')
    await until('suspended')
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'renewed', suspended: 2, broughtBack: 2 })
    expect(actions()).toEqual(['suspended/0', 'broughtBack/0', 'suspended/1', 'broughtBack/1'])
  })

  test('brings the SIM back once on resume and cleared', async () => {
    await reach('suspended')
    await Promise.all([update('resume', {}), signal('cleared')])

    expect(await result()).toMatchObject({ outcome: 'resumed', broughtBack: 1 })
    expect(await start('overLimit')).toMatchObject({ status: 'completed', started: false })
    expect(run.tickets()).toEqual(['suspend:2', 'activate:2'])
  })

  test('leaves the SIM suspended on standDown until the renewal', async () => {
    await reach('suspended')
    await signal('standDown')
    await soon(() => expect(actions()).toEqual(['suspended/0', 'staysSuspended/0']))
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1 })
  })

  test('ends when a person acts on the suspended SIM', async () => {
    await reach('suspended')
    await signal('personActed')

    expect(await result()).toMatchObject({ outcome: 'personActed', broughtBack: 0 })
    expect(run.tickets()).toEqual(['suspend:2'])
  })

  test('keeps a manual suspension when the cycle ends', async () => {
    await reach('suspended', { until: 'manual' })
    await signal('cleared')

    expect(await result()).toMatchObject({ outcome: 'manual', suspended: 1, broughtBack: 0 })
    expect(await run.harness.env.currentTimeMs()).toBeGreaterThanOrEqual(run.endsAt)
    expect(sim()?.status).toBe(2)
  })

  test('releases a grace that outlasts the cycle', async () => {
    await start('overLimit', { grace: 'P40D' })

    expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
    expect(run.model.tickets).toEqual([])
  })

  /** What is left of the cycle when the run starts: enough to open the ticket, also on a busy machine. */
  const LEFT = 8 * SECOND

  test('waits for a Processing ticket past the cycle’s end', async () => {
    run.model.processing.add('suspend')
    const endsAt = (await run.harness.env.currentTimeMs()) + LEFT
    await start('overLimit', { cycleEndsAt: new Date(endsAt).toISOString() })
    await soon(() => expect(run.tickets()).toEqual(['suspend:1']))
    await soon(async () => expect(await run.harness.env.currentTimeMs()).toBeGreaterThan(endsAt))
    run.model.processing.clear()

    expect(await result()).toMatchObject({ outcome: 'renewed', suspended: 1, broughtBack: 1 })
  })

  test('cancels a Pending ticket when the cycle ends', async () => {
    run.model.pending.add('suspend')
    await start('overLimit', { cycleEndsAt: new Date((await run.harness.env.currentTimeMs()) + LEFT).toISOString() })
    await soon(() => expect(run.tickets()).toEqual(['suspend:0']))

    expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
    expect(run.tickets()).toEqual(['suspend:4'])
    expect(sim()?.status).toBe(1)
  })

  test.each([
    ['not over any more', { overLimit: false }],
    ['in Monitor mode', { mode: 1 }],
    ['exempt', { exempt: true }],
  ])('does not suspend a SIM found %s', async (_, knobs) => {
    Object.assign(run.model, knobs)
    await start('overLimit')
    await soon(async () => expect((await run.state()).reason).toMatch(/^not suspended: /))

    expect(await run.state()).toMatchObject({ phase: 'idle' })
    expect(run.model.tickets).toEqual([])
  })

  test.each([
    ['suspended', () => run.model.sims.set(1, aSimOfPerson())],
    ['passed over', () => Object.assign(run.model, { passedOver: true })],
  ])('ends for a SIM that a person has %s', async (_, act) => {
    act()
    await start('overLimit')

    expect(await result()).toMatchObject({ outcome: 'personActed', suspended: 0 })
    expect(run.model.tickets).toEqual([])
  })

  test('retries a failed suspension after a pause', async () => {
    run.model.failing.set('suspend', 'carrier_unavailable')
    await start('overLimit')
    await soon(() => expect(actions()).toEqual(['suspendFailed/0']))
    run.model.failing.clear()
    await run.harness.leap(61_000)

    await until('suspended')
    expect(run.tickets()).toEqual(['suspend:3', 'suspend:2'])
  })

  test('leaves a suspension that the carrier refuses for good', async () => {
    run.model.failing.set('suspend', 'line_barred')
    await start('overLimit')
    await soon(() => expect(actions()).toEqual(['suspendFailed/0']))
    await run.harness.leap(33 * 60_000)
    expect(await run.state()).toMatchObject({
      phase: 'idle',
      reason: 'the carrier refuses to suspend it (line_barred: the carrier said no)',
      waitsFor: { what: 'its next overage' },
    })

    // The refusal is in the present episode, by the service's record.
    run.model.refused = true
    await signal('overLimit')
    await soon(async () => expect((await run.state()).reason).toBe('not suspended: refused by the carrier'))
    expect(run.tickets()).toEqual(['suspend:3'])
    expect(actions()).toEqual(['suspendFailed/0'])

    // The rule fires again, or a person asks.
    run.model.refused = false
    await signal('overLimit')
    await soon(() => expect(actions()).toEqual(['suspendFailed/0', 'suspendFailed/1']))
    expect(run.tickets()).toEqual(['suspend:3', 'suspend:3'])
  })

  test('retries a failed activation until the SIM is back', async () => {
    await reach('suspended')
    run.model.failing.set('activate', 'carrier_rejected')
    await signal('renewed')
    await soon(() => expect(run.tickets()).toEqual(['suspend:2', 'activate:3']))
    run.model.failing.clear()

    expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1, failure: null })
  })

  test('releases a SIM that was unassigned meanwhile', async () => {
    await reach('suspended')
    run.model.sims.set(1, aSim({ status: 0 }))
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'released', broughtBack: 0 })
  })

  test.each([
    ['grace', { grace: 'P2D' }, undefined, 1, []],
    ['suspended', {}, undefined, 2, ['suspend:2']],
    ['suspending', {}, 'pending', 1, ['suspend:4']],
    ['suspending', {}, 'processing', 2, ['suspend:2']],
  ] as const)('leaves the SIM alone when cancelled in %s (%o, %s)', async (phase, more, hold, status, tickets) => {
    if (hold === undefined) await reach(phase, more)
    else await startHeld(hold)
    await until(phase)
    await run.cancel()
    if (hold === 'processing') {
      await soon(() => expect(run.model.calls('DELETE')).toBe(1))
      run.model.processing.clear()
    }
    expect(await run.harness.ended(run.id)).toMatchObject({ status: 'cancelled', result: { outcome: 'cancelled' } })

    expect(sim()?.status).toBe(status)
    expect(run.tickets()).toEqual(tickets)
  })

  test('heeds a signal sent with its start', async () => {
    await start('cleared')
    await until('idle')

    expect(run.model.calls('/sims/1/enforcement')).toBe(0)
  })
})
