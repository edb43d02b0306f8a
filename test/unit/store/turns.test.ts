import { describe, expect, test } from 'vitest'
import { openTurns } from '../../../store/turns.ts'

/** Ten to share. */
const CONNECTIONS = 12

/** Transactions that run until they are told to end. */
function transactions(options: { readonly mostWaiting?: number; readonly waitMs?: number } = {}) {
  const turns = openTurns({ connections: CONNECTIONS, ...options })
  /** The transactions that run, in the order in which they began. */
  const running: { readonly tenant: string; readonly end: () => void }[] = []
  return {
    counts: turns.counts,
    begin: (tenant: string, isRefusable?: boolean) => {
      const work = () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const one = { tenant, end: resolve }
        running.push(one)
        return promise.finally(() => running.splice(running.indexOf(one), 1))
      }
      const taken = turns.take(tenant, work, isRefusable)
      // Those that still wait at the end of a test are refused after it.
      taken.catch(() => undefined)
      return taken
    },
    running: () => running.map(({ tenant }) => tenant).join(''),
    /** Ends a tenant's oldest transaction, and lets others begin. */
    end: async (tenant: string) => {
      running.find((one) => one.tenant === tenant)?.end()
      await new Promise(setImmediate)
    },
  }
}

const many = (count: number, work: () => Promise<unknown>) => {
  for (let n = 0; n < count; n++) void work()
}

describe('transactions of tenants', () => {
  test('leave half of the free connections to others', async () => {
    const { begin, running, counts } = transactions()

    many(20, () => begin('a'))
    expect(running()).toBe('aaaaa')
    many(20, () => begin('b'))
    expect(running()).toBe('aaaaabbb')
    many(20, () => begin('c'))
    expect(running()).toBe('aaaaabbbc')
    many(20, () => begin('d'))
    expect(running()).toBe('aaaaabbbcd')
    expect(counts()).toEqual({ running: 10, waiting: 70 })
  })

  test('take turns, tenant by tenant', async () => {
    const { begin, running, end } = transactions()
    for (const tenant of 'abcdefghij') void begin(tenant)
    for (const tenant of 'kkkklll') void begin(tenant)
    expect(running()).toBe('abcdefghij')

    for (const tenant of 'abcdefg') await end(tenant)

    expect(running()).toBe('hijklklk')
    for (const tenant of 'hij') await end(tenant)
    expect(running()).toBe('klklklk')
  })

  test('begin in the order in which they came', async () => {
    const { begin, end } = transactions()
    many(5, () => begin('a'))
    const began: number[] = []
    for (const n of [1, 2, 3]) void begin('a').then(() => began.push(n))

    for (let n = 0; n < 8; n++) await end('a')

    expect(began).toEqual([1, 2, 3])
  })

  test('give their connection back when they fail', async () => {
    const turns = openTurns({ connections: 3 })
    const fail = () => turns.take('a', () => Promise.reject(new Error('no such table')))

    await expect(fail()).rejects.toThrow('no such table')
    await expect(fail()).rejects.toThrow('no such table')
    expect(turns.counts()).toEqual({ running: 0, waiting: 0 })
  })

  test('are refused beyond a short queue, unless they go on', async () => {
    const { begin, counts } = transactions({ mostWaiting: 3 })
    many(8, () => begin('a'))

    await expect(begin('a')).rejects.toMatchObject({
      code: 'quota_exceeded',
      message: 'The tenant has 3 requests waiting already. Nothing was done: send it again, and fewer at once.',
      retryAfter: 1,
    })
    void begin('a', false)
    expect(counts()).toEqual({ running: 5, waiting: 4 })
    many(1, () => begin('b'))
    expect(counts()).toEqual({ running: 6, waiting: 4 })
  })

  test('are refused after a long wait', async () => {
    const { begin, end, running, counts } = transactions({ waitMs: 50 })
    many(5, () => begin('a'))
    const goesOn = begin('a', false)

    await expect(begin('a')).rejects.toMatchObject({
      code: 'quota_exceeded',
      message: expect.stringContaining('this one waited for 0.05 s'),
    })
    expect(counts()).toEqual({ running: 5, waiting: 1 })
    await end('a')
    expect(running()).toBe('aaaaa')
    for (let n = 0; n < 5; n++) await end('a')
    await goesOn
  })
})
