import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { CycleCost } from '../../../domain/month-end/cost.ts'
import type { MonthEndPlan } from '../../../domain/month-end/plan.ts'
import { COSTS, PLANS } from '../../../service/month-end/keep-answer.ts'
import { type Keeping, keptAnswer, renewAnswer } from '../../../store/kept-answers.ts'
import { inTenant, type TenantTx } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen } from '../../setup/lock-waits.ts'
import { at, CLOSE, CYCLE, close, inOctober } from './october.ts'

const store = await aStore(undefined, { counted: false })
const MINUTE = 60_000

type Answer = CycleCost | MonthEndPlan
/** @param ofReading members that differ from one reading to the next of a closed cycle, the time first */
const kindOf = <A extends Answer>(keeping: Keeping<A>, ofReading: readonly [string, ...string[]]) => ({
  find: (tx: TenantTx): Promise<{ answer: Answer; isFresh: boolean } | undefined> => keptAnswer(tx, keeping, CYCLE),
  renewIn: (tx: TenantTx, after?: number): Promise<Answer | undefined> => renewAnswer(tx, keeping, CYCLE, after),
  addUp: (tx: TenantTx): Promise<Answer> => keeping.addUp(tx, CYCLE, undefined),
  ofReading,
})
const KINDS = { cost: kindOf(COSTS, ['asOf']), plan: kindOf(PLANS, ['at', 'difference']) }

describe.each(['cost', 'plan'] as const)('a kept %s', (kind) => {
  const { find, renewIn, addUp, ofReading } = KINDS[kind]

  async function inUse() {
    const harness = await inOctober(store)
    const [simId = 0] = await harness.activeSims(1, { poolId: await harness.aPool() })
    store.now = at(10)
    const use = () => harness.record([harness.usage(simId, { bytesUp: 5000, at: new Date(at(10)).toISOString() })])
    await use()
    const kept = () => harness.asTenant(find)
    const renew = (after?: number) => harness.asTenant((tx) => renewIn(tx, after))
    const renewal = () =>
      heldOpen(
        (work) => inTenant(store, harness.tenantId, work),
        (tx) => renewIn(tx),
      )
    return { harness, use, kept, renew, renewal }
  }
  /** Bytes that an answer counts. */
  const bytesIn = (answer: Answer | undefined) =>
    answer === undefined ? undefined : 'totals' in answer ? answer.totals.usageBytes : answer.usageBytes

  test('is renewed after a minute, whatever is used', async () => {
    const { use, kept, renew } = await inUse()

    expect(await kept()).toBeUndefined()
    const first = await renew()
    await use()
    store.now += MINUTE - 1
    expect([await kept(), await renew()]).toEqual([{ answer: first, isFresh: true }, first])
    store.now += 1
    expect(await kept()).toEqual({ answer: first, isFresh: false })
    const second = await renew()
    expect(bytesIn(second)).toBe(10_000)
    expect(second).toMatchObject({ [ofReading[0]]: new Date(store.now).toISOString() })
    expect(await kept()).toEqual({ answer: second, isFresh: true })
    store.now -= 2 * MINUTE
    expect(await kept(), 'by a clock that is behind').toMatchObject({ isFresh: false })
  })

  test('is renewed if it has to be younger', async () => {
    const { use, renew } = await inUse()
    await renew()
    await use()

    expect(bytesIn(await renew(store.now - 1)), 'younger than that').toBe(5000)
    expect(bytesIn(await renew(store.now)), 'not younger').toBe(10_000)
  })

  test('is computed once for two at once, and again after a failure', async () => {
    const { kept, renew, renewal, use } = await inUse()
    const first = await renew()
    store.now += MINUTE
    const end = await renewal()

    expect([await renew(), await renew(store.now), await kept()]).toEqual([
      undefined,
      undefined,
      { answer: first, isFresh: false },
    ])
    await use()
    await end()
    expect(bytesIn(await renew()), 'as it was when the other computed it').toBe(5000)
    store.now += MINUTE
    await sql`alter table kept_answers add constraint full_disk check (key = '') not valid`.execute(store.db)
    await expect(renew()).rejects.toThrow('full_disk')
    await sql`alter table kept_answers drop constraint full_disk`.execute(store.db)
    expect(await kept()).toMatchObject({ isFresh: false })
    expect(bytesIn(await renew())).toBe(10_000)
  })

  test('of a closed cycle is of its statement, for good', async () => {
    const { harness, use, kept, renew } = await inUse()
    store.now = CLOSE
    await renew()
    await close(harness)
    expect(await kept(), 'from before the close').toBeUndefined()
    const answer = await renew()
    await use()
    store.now += 400 * 86_400_000

    expect(answer?.closedAt).toBe(new Date(CLOSE).toISOString())
    expect([await kept(), await renew(store.now)]).toEqual([{ answer, isFresh: true }, answer])
    const now = Object.entries(await harness.asTenant(addUp)).filter(([name]) => !ofReading.some((one) => one === name))
    expect(answer).toMatchObject(Object.fromEntries(now))

    const other = await inUse()
    store.now = CLOSE
    const end = await other.renewal()
    await close(other.harness)
    await end()
    expect(await other.kept(), 'begun before the close, kept after it').toBeUndefined()
  })

  test('is none of another form, and none of another tenant', async () => {
    const { kept, renew } = await inUse()
    const answer = await renew()
    const other = await inUse()
    const renewedAt = store.now

    expect(await other.kept()).toBeUndefined()
    await other.renew()
    await sql`update kept_answers set answer = answer - 'currency' where kind = ${kind}`.execute(store.db)
    expect([await kept(), await other.kept()]).toEqual([undefined, undefined])
    store.now = renewedAt
    expect(await renew()).toEqual(answer)
  })
})

describe('the plan of a closed cycle', () => {
  test('says how the statement differs from the last plan before the close', async () => {
    const harness = await inOctober(store)
    const [north, south] = [await harness.aPool(), await harness.aPool()]
    const [sim = 0] = await harness.activeSims(1, { poolId: north })
    store.now = at(10)
    const use = (simId: number, usage: object) =>
      harness.record([harness.usage(simId, { at: new Date(store.now).toISOString(), ...usage })])
    const plan = () => harness.asTenant((tx) => renewAnswer(tx, PLANS, CYCLE))
    await use(sim, { bytesUp: 500 })
    await plan()
    store.now += MINUTE
    const planned = await plan()
    const [late = 0] = await harness.activeSims(1, { poolId: south })
    await use(late, { bytesUp: 700, smsCount: 3 })
    await use(sim, { bytesUp: 20 })
    store.now = CLOSE
    await close(harness)
    const stated = await plan()

    const micro = (stated?.totals.totalMicro ?? 0) - (planned?.totals.totalMicro ?? 0)
    expect(planned?.difference).toBeNull()
    expect(micro).toBeGreaterThan(0)
    expect(stated?.difference).toMatchObject({
      plannedAt: new Date(at(10) + MINUTE).toISOString(),
      usageBytes: 720,
      smsCount: 3,
      totalMicro: micro,
      pools: {
        count: 2,
        first: [
          { poolId: south, usageBytes: 700 },
          { poolId: north, usageBytes: 20 },
        ],
        more: 0,
      },
    })
  })

  test('says nothing of that if none was made before', async () => {
    const harness = await inOctober(store)
    await harness.activeSims(1, { poolId: await harness.aPool() })
    store.now = CLOSE
    await close(harness)

    expect(await harness.asTenant((tx) => renewAnswer(tx, PLANS, CYCLE))).toMatchObject({
      closedAt: new Date(CLOSE).toISOString(),
      difference: null,
    })
  })
})
