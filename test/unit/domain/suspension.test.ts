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
