import { expect, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import type { Permit } from '../model/service.ts'
import { HOUR, useSuspensions } from './harness.ts'

describeInSkippedTime('suspend-on-overage under a hold', (path) => {
  const run = useSuspensions(path)
  const { start, reach, signal, update, until, state, result, actions, sim, tickets } = run
  const held = async (grace = 'PT0S') => {
    run.model.permits = 'held'
    return await reach('held', { grace })
  }
  const permitRequests = () => run.model.calls('/enforcement/permits')

  test('shows what it waits for, until when and why', async () => {
    expect((await held()).waitsFor).toEqual({
      what: 'the release of hold 7',
      until: new Date(run.endsAt).toISOString(),
      why: 'more suspensions at once than the enforcement guard lets through',
    })
    expect(tickets()).toEqual([])
  })

  test('suspends on release without another grace', async () => {
    run.model.permits = 'held'
    await reach('grace', { grace: 'PT10H' })
    await run.harness.leap(10 * HOUR)
    await until('held')
    run.model.permits = 'granted'
    await signal('guardReleased')
    await until('suspended')

    expect(sim()?.status).toBe(2)
    await soon(() => expect(actions()).toEqual(['graceStarted/0', 'graceEnding/0', 'suspended/0']))
    expect((await state()).steps.map(({ step, outcome }) => `${step}: ${outcome}`).slice(1)).toEqual([
      'suspend/1: held by the guard (hold 7): released',
      'suspend/1: complete',
    ])
  })

  test('waits again when the guard holds it again', async () => {
    await held()
    await signal('guardReleased')
    await soon(() => expect(permitRequests()).toBe(2))

    expect(await until('held')).toMatchObject({ waitsFor: { what: 'the release of hold 7' } })
  })

  test('asks again when released before it is held', async () => {
    let permits: Permit[] = ['held', 'granted']
    run.model.permits = async () => {
      const [permit = 'granted', ...rest] = permits
      permits = rest
      if (permit === 'held') await signal('guardReleased')
      return permit
    }
    await reach('suspended')
    expect(permitRequests()).toBe(2)
  })

  test('does not ask again for a discarded overage', async () => {
    await held()
    await signal('guardDiscarded')
    await until('idle')
    await signal('overLimit')
    await signal('overLimit')

    expect(await state()).toMatchObject({ phase: 'idle', reason: 'hold 7 of the guard: discarded' })
    expect(permitRequests()).toBe(1)
    expect(tickets()).toEqual([])
  })

  test.each(['cleared', 'standDown'] as const)('asks again after a discard and %s', async (name) => {
    await held()
    await signal('guardDiscarded')
    await until('idle')
    await signal('overLimit')
    await signal(name)
    run.model.permits = 'granted'
    await signal('overLimit')

    await until('suspended')
    expect(permitRequests()).toBe(2)
  })

  test('does not ask again when the permit is discarded', async () => {
    run.model.permits = 'discarded'
    await start('overLimit')
    await soon(() => expect(permitRequests()).toBe(1))
    await until('idle')
    await signal('overLimit')
    await signal('standDown')
    await signal('overLimit')
    await soon(() => expect(permitRequests()).toBe(2))

    expect((await until('idle')).reason).toBe('not suspended: discarded by a person')
  })

  test.each(['cleared', 'standDown'] as const)('drops the held suspension on %s', async (name) => {
    await held()
    await signal(name)

    expect((await until('idle')).reason).toBe('hold 7 of the guard: not wanted any more')
    run.model.permits = 'granted'
    await signal('overLimit')
    await until('suspended')
  })

  test.each([
    ['renewed', 'released'],
    ['personActed', 'personActed'],
  ] as const)('ends on %s with outcome %s', async (name, outcome) => {
    await held()
    await signal(name)

    expect(await result()).toMatchObject({ outcome, suspended: 0 })
    expect(tickets()).toEqual([])
  })

  test('ends as resumed on resume', async () => {
    await held()
    expect(await update('resume', {})).toMatchObject({ phase: 'idle' })

    expect(await result()).toMatchObject({ outcome: 'resumed', suspended: 0 })
  })

  test('leaves the SIM alone when cancelled', async () => {
    await held()
    await run.cancel()
    await expect(result()).rejects.toThrow()

    expect(sim()?.status).toBe(1)
    expect(tickets()).toEqual([])
  })

  test('ends as released when the cycle ends', async () => {
    await held()

    expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
    expect(await run.harness.env.currentTimeMs()).toBeGreaterThanOrEqual(run.endsAt)
  })
})

describeInSkippedTime('suspend-on-overage while the usage feed is stale', (path) => {
  const run = useSuspensions(path)
  const { reach, signal, until, state, actions, sim, tickets } = run
  const STALE = 'the usage feed is stale: nobody knows whether it is still over'
  /** A SIM after its grace has passed with a stale feed. */
  const delayed = async () => {
    run.model.permits = 'delayed'
    await reach('grace', { grace: 'PT10H' })
    await run.harness.leap(10 * HOUR)
    await until('idle')
    await soon(async () => expect(await state()).toMatchObject({ waitsFor: { why: STALE } }))
  }

  test('suspends nobody at the end of a grace, until an evaluation asks again', async () => {
    await delayed()
    await run.harness.leap(50 * HOUR)
    expect([sim()?.status, tickets()]).toEqual([1, []])
    run.model.permits = 'granted'
    await signal('overLimit')
    await until('suspended')

    expect(sim()?.status).toBe(2)
    await soon(() => expect(actions()).toEqual(['graceStarted/0', 'graceEnding/0', 'suspended/0']))
  })

  test('gives the next overage a grace of its own', async () => {
    await delayed()
    await signal('cleared')
    await soon(async () => expect(await state()).toMatchObject({ waitsFor: { what: 'its next overage' } }))
    await signal('overLimit')
    await until('grace')

    expect(tickets()).toEqual([])
  })
})
