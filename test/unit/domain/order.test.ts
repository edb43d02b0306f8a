import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OrderType } from '../../../domain/codes.ts'
import {
  ORDER_STEPS,
  type OrderStep,
  totalMicroOf,
  whyNot,
  whyNotSoMany,
  whyNotThere,
} from '../../../domain/orders/decisions.ts'
import {
  filterOf,
  MOST_ORDERED,
  ORDER_STATUSES,
  type OrderAddress,
  type OrderStatus,
} from '../../../domain/orders/order.ts'
import { fromMoney, toMoney } from '../../../domain/units.ts'

const { 'Physical SIM': PHYSICAL, eSIM } = OrderType
const STEPS = Object.keys(ORDER_STEPS) as OrderStep[]

/** For each step and type: the status it leads to from each status, and the error code from all others. */
const TABLE: readonly [OrderStep, OrderType, outcomes: Partial<Record<OrderStatus, OrderStatus>>, else_: string][] = [
  ['cancel', PHYSICAL, { Pending: 'Cancelled' }, 'order_not_pending'],
  ['cancel', eSIM, { Pending: 'Cancelled' }, 'order_not_pending'],
  ['process', PHYSICAL, { Pending: 'Processing' }, 'order_not_pending'],
  ['process', eSIM, { Pending: 'Processing' }, 'order_not_pending'],
  ['ship', PHYSICAL, { Processing: 'Shipped' }, 'order_state_conflict'],
  ['ship', eSIM, {}, 'order_type_mismatch'],
  ['deliver', PHYSICAL, { Shipped: 'Delivered' }, 'order_state_conflict'],
  ['deliver', eSIM, {}, 'order_type_mismatch'],
  ['complete', PHYSICAL, {}, 'order_type_mismatch'],
  ['complete', eSIM, { Processing: 'Completed' }, 'order_state_conflict'],
  ['fail', PHYSICAL, { Pending: 'Failed', Processing: 'Failed' }, 'order_state_conflict'],
  ['fail', eSIM, { Pending: 'Failed', Processing: 'Failed' }, 'order_state_conflict'],
]

describe('whyNot', () => {
  test.each(
    TABLE.flatMap(([step, type, outcomes, otherwise]) =>
      ORDER_STATUSES.map((status) => [step, type, status, outcomes[status] ?? otherwise] as const),
    ),
  )('decides %s of type %i from %s: %s', (step, type, status, outcome) => {
    expect(whyNot(step, { type, status })?.code ?? ORDER_STEPS[step].to).toBe(outcome)
  })

  test('is tested for every step and type', () => {
    expect(TABLE.map(([step, type]) => `${step} ${type}`).sort()).toEqual(
      STEPS.flatMap((step) => [`${step} ${PHYSICAL}`, `${step} ${eSIM}`]).sort(),
    )
  })

  test('says what the order is and the step takes', () => {
    expect(whyNot('ship', { type: PHYSICAL, status: 'Pending' })?.detail).toBe(
      'is Pending: "ship" takes one that is Processing',
    )
    expect(whyNot('ship', { type: eSIM, status: 'Processing' })?.detail).toBe(
      'is of type eSIM: "ship" is for type Physical SIM',
    )
  })

  const anyType = fc.constantFrom(PHYSICAL, eSIM)
  const anySteps = fc.array(fc.constantFrom(...STEPS), { maxLength: 30 })

  test('leads every order through distinct statuses of its type', () => {
    fc.assert(
      fc.property(anyType, anySteps, (type, steps) => {
        const seen: OrderStatus[] = ['Pending']
        for (const step of steps) {
          const status = seen.at(-1)!
          if (whyNot(step, { type, status }) === undefined) seen.push(ORDER_STEPS[step].to)
        }
        expect(new Set(seen).size).toBe(seen.length)
        expect(seen.length).toBeLessThanOrEqual(4)
        const foreign = type === PHYSICAL ? ['Completed'] : ['Shipped', 'Delivered']
        expect(seen.filter((status) => foreign.includes(status))).toEqual([])
      }),
    )
  })

  test('never cancels an order that was processed', () => {
    fc.assert(
      fc.property(anyType, anySteps, (type, steps) => {
        let status: OrderStatus = 'Pending'
        let processed = false
        for (const step of steps) {
          if (whyNot(step, { type, status }) !== undefined) continue
          status = ORDER_STEPS[step].to
          processed ||= step === 'process'
        }
        expect(processed && status === 'Cancelled').toBe(false)
      }),
    )
  })
})

describe('totalMicroOf', () => {
  test('is exact for every price and quantity', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100_000_000_000 }),
        fc.integer({ min: 1, max: MOST_ORDERED }),
        (micro, count) => {
          const total = totalMicroOf(count, micro)
          expect(BigInt(total)).toBe(BigInt(micro) * BigInt(count))
          expect(fromMoney(toMoney(micro))).toBe(micro)
          expect(fromMoney(toMoney(total))).toBe(total)
        },
      ),
    )
  })
})

describe('fulfilment', () => {
  test('takes exactly as many SIMs as were ordered', () => {
    expect(whyNotSoMany(3, 3)).toBeUndefined()
    expect(whyNotSoMany(2, 3)).toMatchObject({ code: 'order_quantity_mismatch', detail: expect.stringMatching(/3.*2/) })
    expect(whyNotSoMany(4, 3)).toMatchObject({ code: 'order_quantity_mismatch', detail: expect.stringMatching(/3.*4/) })
  })

  const NOWHERE: OrderAddress = {
    shippingCompany: null,
    shippingLine1: null,
    shippingLine2: null,
    shippingCity: null,
    shippingCountry: null,
    shippingPostcode: null,
    shippingExtraInfo: null,
  }
  test.each([
    ['none at all', {}, false],
    ['an empty one', { shippingLine1: '' }, false],
    ['a blank one', { shippingLine1: ' \t' }, false],
    ['a country alone', { shippingCountry: 'DE' }, false],
    ['a first line', { shippingLine1: '1 Meadow Lane' }, true],
  ])('needs a first line in the address: %s', (_which, address, enough) => {
    expect(whyNotThere({ ...NOWHERE, ...address }) === undefined).toBe(enough)
  })
})

describe('filterOf', () => {
  const wrong = (parameter: string) =>
    expect.objectContaining({ code: 'invalid_request', errors: [expect.objectContaining({ parameter })] })

  test.each([
    ['1', PHYSICAL],
    ['2', eSIM],
    ['esim', eSIM],
    ['ESIM', eSIM],
    ['Physical SIM', PHYSICAL],
    ['physical sim', PHYSICAL],
  ])('reads type %j as %i', (type, code) => {
    expect(filterOf({ type }).type).toBe(code)
  })

  test.each(['0', '3', '01', '1.0', 'physical', 'toString', ' 1', '%'])('refuses type %j by name', (type) => {
    expect(() => filterOf({ type })).toThrow(wrong('type'))
  })

  test.each(ORDER_STATUSES)('reads status %s in any case', (status) => {
    expect([filterOf({ status }).status, filterOf({ status: status.toUpperCase() }).status]).toEqual([status, status])
  })

  test.each(['0', 'Open', 'Pend', 'toString'])('refuses status %j by name', (status) => {
    expect(() => filterOf({ status })).toThrow(wrong('status'))
  })

  test('defaults to the first ten orders, unfiltered', () => {
    expect(filterOf({})).toEqual({
      search: undefined,
      type: undefined,
      status: undefined,
      date: undefined,
      page: { page: 1, pageSize: 10 },
      cursor: undefined,
    })
  })
})
