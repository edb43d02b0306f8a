import { describe, expect, test } from 'vitest'
import { requireJava } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import type { Permit } from '../model/service.ts'
import { HOUR, useSuspensions } from './harness.ts'

const path = requireJava('suspend-on-overage under the guard, in skipped time')

describe.skipIf(path === undefined)('a suspension that the guard holds', () => {
  const run = useSuspensions(path)
  const { ask, signal, update, until, state, result, actions, sim, tickets } = run
  const held = async (grace = 'PT0S') => {
    run.model.permits = 'held'
    await ask('overLimit', { grace })
    return await until('held')
  }
  const asks = () => run.model.calls('/enforcement/permits')

  test('waits and says for what, until when and why', async () => {
    expect((await held()).waitsFor).toEqual({
      what: 'the release of hold 7',
      until: new Date(run.endsAt).toISOString(),
      why: 'more suspensions at once than the enforcement guard lets through',
    })
    expect(tickets()).toEqual([])
  })

  test('goes on where it is released, without another grace', async () => {
    run.model.permits = 'held'
    await ask('overLimit', { grace: 'PT10H' })
    await until('grace')
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

  test('is held again where the guard says so when asked again', async () => {
    await held()
    await signal('guardReleased')
    await soon(() => expect(asks()).toBe(2))

    expect(await until('held')).toMatchObject({ waitsFor: { what: 'the release of hold 7' } })
  })

  test('is released before the answer that it is held: it asks again all the same', async () => {
    let answers: Permit[] = ['held', 'granted']
    run.model.permits = async () => {
      const [answer = 'granted', ...rest] = answers
      answers = rest
      if (answer === 'held') await signal('guardReleased')
      return answer
    }
    await ask('overLimit')

    await until('suspended')
    expect(asks()).toBe(2)
  })

  test('is discarded for this overage: only after it has cleared another one asks again', async () => {
    await held()
    await signal('guardDiscarded')
    await until('idle')
    await signal('overLimit')
    await signal('overLimit')

    expect(await state()).toMatchObject({ phase: 'idle', reason: 'hold 7 of the guard: discarded' })
    expect(asks()).toBe(1)
    expect(tickets()).toEqual([])
  })

  test.each(['cleared', 'standDown'] as const)('after a discard and %s another overLimit asks again', async (name) => {
    await held()
    await signal('guardDiscarded')
    await until('idle')
    await signal('overLimit')
    await signal(name)
    run.model.permits = 'granted'
    await signal('overLimit')

    await until('suspended')
    expect(asks()).toBe(2)
  })

  test('of which the service says that it was discarded is not asked for again either', async () => {
    run.model.permits = 'discarded'
    await ask('overLimit')
    await soon(() => expect(asks()).toBe(1))
    await until('idle')
    await signal('overLimit')
    await signal('standDown')
    await signal('overLimit')
    await soon(() => expect(asks()).toBe(2))

    expect((await until('idle')).reason).toBe('not suspended: discarded by a person')
  })

  test.each(['cleared', 'standDown'] as const)('%s drops it', async (name) => {
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
  ] as const)('%s ends it as %s', async (name, outcome) => {
    await held()
    await signal(name)

    expect(await result()).toMatchObject({ outcome, suspended: 0 })
    expect(tickets()).toEqual([])
  })

  test('resume ends it', async () => {
    await held()
    expect(await update('resume', {})).toMatchObject({ phase: 'idle' })

    expect(await result()).toMatchObject({ outcome: 'resumed', suspended: 0 })
  })

  test('cancelled it leaves the SIM as it is', async () => {
    await held()
    await run.cancel()
    await expect(result()).rejects.toThrow()

    expect(sim()?.status).toBe(1)
    expect(tickets()).toEqual([])
  })

  test('is released by the end of the billing cycle', async () => {
    await held()

    expect(await result()).toMatchObject({ outcome: 'released', suspended: 0 })
    expect(await run.harness.env.currentTimeMs()).toBeGreaterThanOrEqual(run.endsAt)
  })
})
