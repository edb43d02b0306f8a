import { expect, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { aSim, aSimOfPerson } from '../model/service.ts'
import type { ModelTicket } from '../model/tickets.ts'
import { DAY, useSuspensions } from './harness.ts'

describeInSkippedTime('suspend-on-overage with takeOver', (path) => {
  const run = useSuspensions(path)
  const { signal, update, until, state, result, actions, sim, tickets } = run
  const suspendedBy = (workflowId: string, until: 'renewal' | 'manual' = 'renewal') =>
    run.model.sims.set(1, aSim({ status: 2, suspension: { cause: 'watchdog', workflowId, until } }))
  const again = (more: Parameters<typeof run.inputOf>[0] = {}) =>
    run.harness.start('suspend-on-overage', run.id, run.inputOf({ takeOver: true, ...more }))
  const past = async () => new Date((await run.harness.env.currentTimeMs()) - DAY).toISOString()

  test('brings back a SIM the last run suspended', async () => {
    suspendedBy(run.id)
    await again()
    expect(await until('suspended')).toMatchObject({ reason: 'suspended by an earlier run until renewal' })
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'renewed', suspended: 0, broughtBack: 1 })
    expect(tickets()).toEqual(['activate:2'])
    expect((await state()).steps.map(({ step }) => step)).toEqual(['take over', 'activate/1'])
  })

  test('brings the SIM back at once after the cycle’s end', async () => {
    suspendedBy(run.id)
    await again({ cycleEndsAt: await past() })

    expect(await result()).toMatchObject({ outcome: 'renewed', broughtBack: 1 })
  })

  test('brings the SIM back at once within its limit', async () => {
    suspendedBy(run.id)
    run.model.overLimit = false
    await again()

    await soon(() => expect(sim()?.status).toBe(1))
    await until('idle')
  })

  test('leaves the SIM suspended after keepSuspended', async () => {
    suspendedBy(run.id, 'manual')
    run.model.overLimit = false
    await again()
    expect(await until('suspended')).toMatchObject({ until: 'manual' })
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'manual', broughtBack: 0 })
  })

  test('waits for the open ticket of the last run', async () => {
    const cause = { by: 'watchdog', workflowId: run.id, until: 'renewal' }
    const ticket: ModelTicket = { id: 't', kind: 'suspend', simId: 1, status: 1, failureCode: null, body: { cause } }
    run.model.tickets.push(ticket)
    run.model.processing.add('suspend')
    await again()
    await soon(() => expect(run.model.calls('/enforcement')).toBeGreaterThan(1))
    expect(await state()).toMatchObject({ phase: 'idle', waitsFor: { what: 'the open tickets of the SIM' } })
    run.model.processing.clear()

    await until('suspended')
    await update('resume', {})
    expect(await result()).toMatchObject({ outcome: 'resumed', broughtBack: 1 })
  })

  test('suspends a SIM that is over its limit', async () => {
    await again()
    await until('suspended')
    await soon(() => expect(actions()).toHaveLength(1))

    expect(actions()).not.toContain('suspended/0')
    expect(tickets()).toEqual(['suspend:2'])
  })

  test('waits for an overage when within the limit', async () => {
    run.model.overLimit = false
    await again()
    await until('idle')
    await soon(async () => expect((await state()).waitsFor).toMatchObject({ what: 'its next overage' }))
    run.model.overLimit = true
    await signal('overLimit')

    await until('suspended')
  })

  test('ends as released after the cycle’s end', async () => {
    await again({ cycleEndsAt: await past() })

    expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
    expect(tickets()).toEqual([])
  })

  test('leaves a SIM that another workflow suspended', async () => {
    suspendedBy('suspend-on-overage:acme:1:earlier', 'manual')
    await again()
    await soon(async () => expect((await state()).reason).toBe('not suspended: not active'))

    expect(tickets()).toEqual([])
  })

  test.each([
    ['personActed when a person has suspended the SIM', 'personActed', () => run.model.sims.set(1, aSimOfPerson())],
    ['released when the SIM is gone', 'released', () => run.model.sims.clear()],
  ])('ends as %s', async (_, outcome, act) => {
    act()
    await again()

    expect(await result()).toMatchObject({ outcome })
  })
})
