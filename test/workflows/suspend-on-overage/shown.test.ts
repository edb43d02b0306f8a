import { expect, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { activitiesIn, tasksIn, untilLast } from '../events.ts'
import { HOUR, MINUTE, useSuspensions } from './harness.ts'

describeInSkippedTime('a run of suspend-on-overage', (path) => {
  const run = useSuspensions(path)
  const { start, reach, signal, update, until, state, result } = run
  const endsAt = () => new Date(run.endsAt).toISOString()
  const waits = (wanted: object) => soon(async () => expect((await state()).waitsFor).toMatchObject(wanted))
  const ticketId = (kind: string) => run.model.tickets.find((ticket) => ticket.kind === kind)?.id ?? ''

  test('shows what each phase waits for, and why', async () => {
    const { graceEndsAt } = await reach('grace', { grace: 'PT10H' })
    await waits({ until: graceEndsAt, why: 'over its limit; rule sim-overage gives it PT10H' })
    run.model.processing.add('suspend')
    await run.harness.leap(10 * HOUR)
    await until('suspending')
    await waits({ until: null, why: 'the carrier has to suspend the SIM' })
    expect((await state()).waitsFor?.what).toBe(`ticket ${ticketId('suspend')}`)
    run.model.processing.clear()
    await until('suspended')
    await waits({
      what: 'the renewal of the billing cycle',
      until: endsAt(),
      why: 'suspended by rule sim-overage until renewal',
    })
    run.model.failing.set('activate', 'carrier_rejected')
    await signal('cleared')
    await waits({
      what: 'the next attempt to bring it back',
      why: expect.stringMatching(/carrier_rejected.*tried again/),
    })
    run.model.failing.clear()
    await run.harness.leap(HOUR)
    await until('idle')
    await waits({ what: 'its next overage', until: endsAt(), why: 'active again' })
    await update('resume', {})
    await result()

    const [failed, done] = run.model.tickets.filter(({ kind }) => kind === 'activate').map(({ id }) => id)
    expect((await state()).steps.map(({ step, outcome, ticketId }) => [step, outcome, ticketId])).toEqual([
      ['grace', `passed at ${graceEndsAt}`, null],
      ['suspend/1', 'complete', ticketId('suspend')],
      ['activate/1', 'carrier_rejected: the carrier said no', failed],
      ['activate/2', 'complete', done],
      ['resume', 'a person resumes the SIM: it is not suspended in this cycle', null],
    ])
    expect((await state()).waitsFor).toBeNull()
  })

  test('shows the next attempt after a failed suspension', async () => {
    run.model.failing.set('suspend', 'carrier_timeout')
    await reach('grace', { grace: 'PT10H' })
    await run.harness.leap(10 * HOUR)
    await waits({
      what: 'the next attempt to suspend it',
      why: 'suspending failed 1 time, the last with carrier_timeout: the carrier said no',
    })
    run.model.failing.clear()
    await run.harness.leap(HOUR)

    await until('suspended')
    await soon(() =>
      expect(run.actions()).toEqual(['graceStarted/0', 'graceEnding/0', 'suspendFailed/0', 'suspended/0']),
    )
  })

  test('waits for the service while it is away, and shows that', async () => {
    run.model.outages = 1000
    await start('overLimit')
    await waits({ what: 'the service', why: 'it looks at the SIM once more before it is suspended' })
    run.model.outages = 0
    // Attempts are at most a minute apart.
    await run.harness.leap(MINUTE)

    await until('suspended')
  })

  test('takes four activities and at most eight workflow tasks', async () => {
    await start('overLimit')
    await soon(async () => {
      const { events = [] } = await untilLast(run.harness.handleOf(run.id), 'workflowTaskCompleted')
      expect(events?.filter((event) => event.activityTaskCompletedEventAttributes)).toHaveLength(2)
    })
    await signal('renewed')
    // A wait for the result would let time leap: to the next look at a ticket whose end is about to be signalled.
    const history = await untilLast(run.harness.handleOf(run.id), 'workflowExecutionCompleted')
    expect(activitiesIn(history)).toHaveLength(4)
    // Fewer if a ticket's end is signalled before its id is known.
    expect(tasksIn(history)).toBeLessThanOrEqual(8)
    expect(run.model.calls('/sims/1/enforcement')).toBe(1)
  })
})
