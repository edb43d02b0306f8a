/** A pool's enforcement and the guard, on the real service in skipped time. */
import { describe, expect, test } from 'vitest'
import { enforcePoolId } from '../../../domain/temporal/ids.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { useCustomer } from '../real-service/customer.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

describeInSkippedTime('enforcement of a pool', (path) => {
  let cycle: Cycle
  const { harness, customer } = useCustomer(path, async (started) => {
    cycle = await started.skipToMonth(10)
  })

  /** A pool of which all SIMs are suspended, with 100 MB and a usage for each. The last takes it over its capacity. */
  async function aPool(...megabytes: number[]) {
    const poolId = await customer.sharedPool('all')
    const sims = await customer.active(megabytes.length, poolId)
    for (const [i, usage] of megabytes.entries()) await customer.usage(sims[i] ?? 0, usage)
    const id = enforcePoolId(customer.tenantId, poolId, cycle.key)
    const state = async () => (await customer.workflow(id)).state
    return {
      poolId,
      sims,
      id,
      state,
      /** Waits until the workflow's state has these values. */
      untilState: (wanted: object) => soon(async () => expect(await state()).toMatchObject(wanted)),
      /** Indexes of the suspended SIMs in `sims`. */
      suspended: async () => {
        const all = await Promise.all(sims.map((simId) => customer.sim(simId)))
        return all.flatMap(({ status }, i) => (status === 2 ? [i] : []))
      },
    }
  }
  type Pool = Awaited<ReturnType<typeof aPool>>
  const guard = (guardLeast: number) =>
    customer.inside('PATCH', '/internal/tenant/enforcement', { guardLeast, guardPct: 0 })
  const decide = (holdId: number, word: 'release' | 'discard') =>
    customer.inside('POST', `/internal/enforcement/holds/${holdId}/${word}`)
  const untilSuspended = (pool: Pool, places: number[]) =>
    soon(async () => expect(await pool.suspended()).toEqual(places))

  describe('with a hold', () => {
    /** The policy picks all three SIMs: one is suspended, two are held. */
    async function held() {
      await guard(1)
      const pool = await aPool(50, 150, 250)
      await pool.untilState({ held: 2 })
      await untilSuspended(pool, [2])
      const { holdId } = await pool.state()
      return { ...pool, holdId: holdId as number }
    }

    test('holds SIMs beyond the limit and notifies once', async () => {
      const pool = await held()
      const { state } = await customer.workflow(pool.id)
      await harness.skipTo((await harness.now()) + 2 * HOUR)

      expect(state.waitsFor).toEqual({
        what: `the release or discard of hold ${pool.holdId}`,
        until: new Date(cycle.endsAt).toISOString(),
        why: 'rule pool-overage-all may not suspend so many in an hour: 2 SIMs held until a person decides',
      })
      expect(state.steps.at(-1)).toMatchObject({ outcome: `over: 1 SIM armed, 2 held by hold ${pool.holdId}` })
      expect(await pool.suspended()).toEqual([2])
      const { data } = await customer.inside('GET', '/internal/enforcement/holds?state=held')
      expect(data).toMatchObject([{ id: pool.holdId, poolId: pool.poolId, suspended: 1, allowed: 1, waiting: 2 }])
      expect(await customer.log()).toEqual([
        '2 Pool all is 150 MB over its capacity',
        '2 Decision needed',
        '2 SIM was suspended',
      ])
      const subjects = (await customer.mails()).map(({ subject }) => subject)
      expect(subjects.filter((subject) => subject.startsWith('Decision needed: 2 suspensions'))).toHaveLength(1)
    })

    test('suspends the held SIMs after a release', async () => {
      const pool = await held()
      expect(await decide(pool.holdId, 'release')).toEqual({ id: pool.holdId, state: 'released', decided: 2 })
      await untilSuspended(pool, [0, 1, 2])

      await pool.untilState({ held: 0, holdId: null, over: true })
      expect(await customer.inside('GET', '/internal/enforcement/holds?state=held')).toMatchObject({ data: [] })
    })

    test('holds SIMs only while the pool is in Enforce mode', async () => {
      const pool = await held()
      const { poolId } = pool
      await customer.api('PUT', `/api/pools/${poolId}`, { name: 'all', watchdogMode: 1 })
      await pool.untilState({ held: 0, holdId: null })
      await soon(async () =>
        expect((await customer.inside('GET', '/internal/enforcement/holds')).data).toMatchObject([
          { state: 'held', waiting: 0 },
        ]),
      )
      await customer.api('PUT', `/api/pools/${poolId}`, { name: 'all', watchdogMode: 2 })
      await pool.untilState({ held: 2, holdId: pool.holdId })

      expect(await pool.suspended()).toEqual([2])
    })

    test('suspends nobody while the tenant’s enforcement is off', async () => {
      const pool = await held()
      await customer.inside('PATCH', '/internal/tenant/enforcement', { enabled: false })
      await pool.untilState({ held: 0, holdId: null })
      await decide(pool.holdId, 'release')
      await harness.skipTo((await harness.now()) + 10 * MINUTE)
      const off = await pool.suspended()
      await customer.inside('PATCH', '/internal/tenant/enforcement', { enabled: true, guardLeast: 20 })
      await untilSuspended(pool, [0, 1, 2])

      expect(off).toEqual([2])
    })
  })

  test('lets a hold lapse when its cycle ends', async () => {
    await guard(1)
    const pool = await aPool(150, 250)
    await pool.untilState({ held: 1 })
    await untilSuspended(pool, [1])
    const { holdId } = await pool.state()
    await harness.skipTo(cycle.endsAt + MINUTE)
    expect((await customer.ended(pool.id)).result).toMatchObject({ held: 1, holdId, armed: 1 })
    await soon(async () =>
      expect(await customer.inside('GET', '/internal/enforcement/holds?state=lapsed')).toMatchObject({
        data: [{ id: holdId }],
      }),
    )
    expect(await customer.tryInside('POST', `/internal/enforcement/holds/${holdId}/release`)).toMatchObject({
      status: 409,
      body: { code: 'hold_not_open' },
    })
    await customer.monthEnd(cycle)
    await untilSuspended(pool, [])
    await harness.skipTo(cycle.endsAt + DAY)
    for (const simId of pool.sims) await customer.usage(simId, 150)
    const next = new Date(cycle.endsAt).toISOString().slice(0, 7)
    await soon(async () => expect(await pool.suspended()).toHaveLength(1))
    const again = await customer.workflow(enforcePoolId(customer.tenantId, pool.poolId, next))
    expect(again.state).toMatchObject({ held: 1 })
    expect(again.state.holdId).not.toBe(holdId)
  })
})
