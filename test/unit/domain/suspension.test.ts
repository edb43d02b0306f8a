import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beginSuspension, step } from '../../../domain/enforcement/suspension.ts'
import { ACTIVE, GO_ON, type SuspensionEvent } from '../../../domain/enforcement/suspension-state.ts'
import { SUSPEND_SIGNALS } from '../../../domain/temporal/signals.ts'

const DAY = 86_400_000
const ENDS_AT = 30 * DAY
const orders = fc.record({
  rule: fc.constant('sim-overage'),
  grace: fc.constantFrom('PT0S', 'P2D', 'P60D'),
  until: fc.constantFrom('renewal' as const, 'manual' as const),
  cycleEndsAt: fc.constant(new Date(ENDS_AT).toISOString()),
})
const signals = fc.tuple(fc.nat(3 * DAY), fc.constantFrom(...SUSPEND_SIGNALS, 'cancelled' as const))
const answers = fc.constantFrom<SuspensionEvent>(
  { type: 'answered', answer: { do: 'stay' } },
  { type: 'answered', answer: { do: 'refuse', why: 'usage feed is stale' } },
  { type: 'answered', answer: { do: 'hold', holdId: 1 } },
  { type: 'failed', code: 'carrier_unavailable', detail: '' },
)

test('suspends only a SIM over its limit in the cycle, and ends with it', () => {
  fc.assert(
    fc.property(orders, fc.array(signals, { maxLength: 30 }), fc.infiniteStream(answers), (order, given, replies) => {
      let [now, state, isEnded] = [0, beginSuspension(order, 0), false]
      const take = (event: SuspensionEvent): void => {
        const { state: next, commands } = step(state, event, now)
        state = next
        const last = commands.at(-1)
        isEnded ||= last?.do === 'end'
        if (last?.do === 'wait' || last?.do === 'end') return
        if (last?.do === 'suspend') expect(state).toMatchObject({ demand: 'over', ending: null, isSuspended: false })
        if (last?.do === 'suspend') expect(now).toBeLessThan(ENDS_AT)
        take(last?.do === 'suspend' ? replies.next().value : last?.do === 'activate' ? ACTIVE : GO_ON)
      }
      for (const [afterMs, signal] of [...given, [ENDS_AT, 'overLimit'], [0, 'renewed']] as const) {
        if (!isEnded) take(GO_ON)
        now += afterMs
        const noted = step(state, { type: 'signal', signal }, now)
        expect(noted.commands).toEqual([])
        state = noted.state
      }
      if (!isEnded) take(GO_ON)
      expect(isEnded).toBe(true)
    }),
  )
})

test.each([
  ['renewal', 'until the renewal at 1970-01-31T00:00:00.000Z, though the watchdog would no longer suspend it'],
  ['manual', 'until somebody activates it, though the watchdog would no longer suspend it'],
] as const)('says once that a SIM suspended until %s stays so though the watchdog stands down', (until, detail) => {
  const order = { rule: 'sim-overage', grace: 'PT0S', until, cycleEndsAt: new Date(ENDS_AT).toISOString() }
  let state = beginSuspension(order, 0)
  const logged: unknown[] = []
  const take = (event: SuspensionEvent): void => {
    const { state: next, commands } = step(state, event, DAY)
    state = next
    logged.push(...commands.filter((command) => command.do === 'log'))
    const last = commands.at(-1)?.do
    if (event.type !== 'signal' && last !== 'wait') take(last === 'suspend' ? ANSWERED : GO_ON)
  }
  const ANSWERED: SuspensionEvent = { type: 'answered', answer: { do: 'stay' } }
  take(GO_ON)
  expect(logged).toMatchObject([{ action: 'suspended' }])

  for (const signal of ['standDown', 'standDown', 'overLimit', 'standDown'] as const) {
    take({ type: 'signal', signal })
    take(GO_ON)
  }

  expect(logged.slice(1)).toMatchObject([
    { action: 'staysSuspended', counter: 0, detail },
    { action: 'staysSuspended', counter: 1, detail },
  ])
})
