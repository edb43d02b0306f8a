/** `Idempotency-Key` under concurrent requests. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cases } from '../../setup/cases.ts'
import { aTariff, type Tenant, useHarness } from '../harness.ts'

const harness = useHarness()
/** Batches. They take a tenth of the time limit; the rest is for shrinking a failing one. */
const RUNS = cases(40)
const MOST_MS = 120_000 + RUNS * 3000
let serial = 0

/** Two requests that succeed, one that cannot. */
type Which = 'one' | 'other' | 'impossible'

async function namesOf(tenant: Tenant): Promise<string[]> {
  const names: string[] = []
  for (let page = 1, more = true; more; page++) {
    const { body } = await tenant.ask('GET', `/api/pools?page=${page}`)
    names.push(...body.data.map(({ name }: { name: string }) => name))
    more = body.pagination.hasNextPage
  }
  return names
}

test('Idempotency-Key has one effect under concurrent requests', { timeout: MOST_MS + 30_000 }, async () => {
  const tariffId = await aTariff(harness.tenant)
  const made = fc.constantFrom<Which>('one', 'one', 'other', 'impossible')
  const batch = fc.array(fc.record({ which: made, key: fc.nat(1), late: fc.nat(3) }), { minLength: 2, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(batch, async (requests) => {
      const keys = [`at once ${serial++}`, `at once ${serial++}`]
      const ask = (which: Which, key: number) => {
        const of = which === 'impossible' ? 2_000_000_000 : tariffId
        const body = { type: 0, watchdogMode: 1, tariffId: of, name: `${which} ${keys[key]}` }
        return harness.tenant.ask('POST', '/api/pools', body, { 'idempotency-key': keys[key] ?? '' })
      }
      const answers = await Promise.all(
        requests.map(async ({ which, key, late }) => {
          for (let turn = 0; turn < late; turn++) await new Promise((resolve) => setImmediate(resolve))
          return { which, key, answer: await ask(which, key) }
        }),
      )

      for (const key of [0, 1]) {
        const mine = answers.filter((one) => one.key === key)
        const done = mine.filter(({ answer }) => answer.status === 200)
        const winner = done[0]
        for (const { which, answer } of mine) {
          if (answer.status === 200) expect(answer.body).toEqual(winner?.answer.body)
          else if (answer.body.code === 'idempotency_in_progress') {
            expect(answer.status).toBe(409)
            expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
          } else if (answer.body.code === 'idempotency_key_reused') {
            expect([answer.status, winner !== undefined && winner.which !== which]).toEqual([422, true])
          } else expect([which, answer.status, answer.body.code]).toEqual(['impossible', 404, 'tariff_not_found'])
        }
        expect(new Set(done.map(({ which }) => which)).size).toBeLessThanOrEqual(1)
        const originals = done.filter(({ answer }) => answer.headers['idempotency-replayed'] === undefined)
        expect(originals).toHaveLength(winner ? 1 : 0)

        const possible = mine.find(({ which }) => which !== 'impossible')?.which
        const again = winner?.which ?? possible
        if (again === undefined) continue
        const [retry, replay] = [await ask(again, key), await ask(again, key)]
        expect([retry.status, replay.status]).toEqual([200, 200])
        expect(replay.body).toEqual(retry.body)
        if (winner !== undefined) expect(retry.body).toEqual(winner.answer.body)
        const pools = (await namesOf(harness.tenant)).filter((name) => name.endsWith(` ${keys[key]}`))
        expect(pools).toEqual([`${again} ${keys[key]}`])
      }
    }),
    { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS },
  )
})
