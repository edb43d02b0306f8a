/** What suspend-on-overage makes of the signals of its tickets' ends. */
import { expect, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { activitiesIn, signalsIn } from '../events.ts'
import { MINUTE, useSuspensions } from './harness.ts'

describeInSkippedTime('the end of a suspend ticket', (path) => {
  const run = useSuspensions(path)
  const { start, reach, startHeld, signal, until, result, actions, tickets } = run
  const history = () => run.harness.handleOf(run.id).fetchHistory()
  const looks = async () => activitiesIn(await history()).filter((name) => name === 'lookAtTicket').length

  test('is found by a look if its signal is lost', async () => {
    run.model.signals = 'lost'
    const began = await run.harness.env.currentTimeMs()
    await start('overLimit')
    await soon(() => expect(tickets()).toEqual(['suspend:2']))
    expect(await run.state()).toMatchObject({ phase: 'suspending' })
    await run.harness.leap(2 * MINUTE)

    await until('suspended')
    expect(await looks()).toBe(1)
    expect((await run.harness.env.currentTimeMs()) - began).toBeGreaterThanOrEqual(MINUTE)
  })

  test('counts once if it is signalled twice', async () => {
    run.model.signals = 'twice'
    await reach('suspended')
    await signal('renewed')

    expect(await result()).toMatchObject({ outcome: 'renewed', suspended: 1, broughtBack: 1 })
    expect(tickets()).toEqual(['suspend:2', 'activate:2'])
    expect(actions()).toEqual(['suspended/0', 'broughtBack/0'])
  })

  test('is known if its signal comes before the ticket’s id', async () => {
    run.model.lostResponses = 1
    await reach('suspended')

    expect(signalsIn(await history()).filter((name) => name === 'ticketsEnded')).toHaveLength(1)
    expect(await looks()).toBe(0)
    expect(tickets()).toEqual(['suspend:2'])
  })

  test('is looked for ever more seldom', async () => {
    run.model.signals = 'lost'
    await startHeld('processing')
    await run.harness.leap(3 * 60 * MINUTE)

    // After 1, 3, 7, 15 and 30 minutes, and every 15 from then on.
    await soon(async () => expect(await looks()).toBe(5 + 10))
    run.model.processing.clear()
    await run.harness.leap(16 * MINUTE)
    await until('suspended')
  })
})
