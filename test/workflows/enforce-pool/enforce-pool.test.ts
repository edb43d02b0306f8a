/** A pool's enforcement and the guard, on the real service in skipped time. */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { enforcePoolId } from '../../../domain/temporal/ids.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { useCustomer } from '../real-service/customer.ts'
import type { RealService } from '../real-service/service.ts'

const path = requireSkippingServer('pool enforcement and its guard on the real service in skipped time')
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

/** The shipped rule for pools, once for each policy. Each matches pools named after its policy. */
async function rulesOfPolicies() {
  const file = await readFile(new URL('../../../rules/pool/pool-overage.json', import.meta.url), 'utf8')
  const sim = await readFile(new URL('../../../rules/sim/sim-overage.json', import.meta.url), 'utf8')
  const pools = ['largestExcess', 'aboveShare', 'all'].map((target) => {
    const rule = JSON.parse(file)
    rule.name = `pool-overage-${target.toLowerCase()}`
    rule.match.pool = `${target}*`
    rule.event.params.suspend.target = target
    return { file: `pool/${rule.name}.json`, text: JSON.stringify(rule) }
  })
  return [...pools, { file: 'sim/sim-overage.json', text: sim }]
}

describe.skipIf(path === undefined)('enforcement of a pool', () => {
  let cycle: Cycle
  const { harness, customer } = useCustomer(path, async (started: RealService) => {
    const response = await fetch(`${started.internalUrl}/internal/rules`, {
      method: 'POST',
      headers: { authorization: `Bearer ${started.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ files: await rulesOfPolicies(), author: 'the tests' }),
    })
    expect(await response.json()).toMatchObject({ changed: true })
    cycle = await started.skipToMonth(10)
  })

  /** A pool named after a policy, with 100 MB and a usage for each SIM. The last SIM takes it over its capacity. */
  async function aPool(policy: string, ...megabytes: number[]) {
    const poolId = await customer.pool(policy, await customer.dynamicTariff(100), 1)
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
      /** The SIMs that the service keeps as armed. */
      armed: async () =>
        (await customer.inside('GET', `/internal/pools/${poolId}/armed-sims?cycle=${cycle.key}`)).simIds,
      /** Indexes of the suspended SIMs in `sims`. */
      suspended: async () => {
        const all = await Promise.all(sims.map((simId) => customer.sim(simId)))
        return all.flatMap(({ status }, i) => (status === 2 ? [i] : []))
      },
    }
  }
  type Pool = Awaited<ReturnType<typeof aPool>>
  const guard = (guardLeast: number, guardPct = 0) =>
    customer.inside('PATCH', '/internal/tenant/enforcement', { guardLeast, guardPct })
  const decide = (holdId: number, word: 'release' | 'discard') =>
    customer.inside('POST', `/internal/enforcement/holds/${holdId}/${word}`)
  const untilSuspended = (pool: Pool, places: number[]) =>
    soon(async () => expect(await pool.suspended()).toEqual(places))

  // 380 MB over. Three SIMs are above their share, by 20, 50 and 500 MB: the largest alone covers it.
  const USAGE = [10, 0, 120, 150, 600]

  test.each([
    ['largestExcess', [4]],
    ['aboveShare', [2, 3, 4]],
    ['all', [0, 1, 2, 3, 4]],
  ])('suspends the SIMs its policy picks: %s', async (policy, places) => {
    const pool = await aPool(policy, ...USAGE)
    await pool.untilState({ over: true, tooLittle: false, held: 0, holdId: null })
    await untilSuspended(pool, places)

    expect(await pool.state()).toMatchObject({ armed: places.length })
    expect(await pool.armed()).toEqual(places.map((i) => pool.sims[i]))
    await harness.skipTo((await harness.now()) + 10 * MINUTE)
    expect(await pool.suspended()).toEqual(places)
  })

  test('suspends only SIMs over their limit under sim-overage', async () => {
    const sims = await customer.active(3, await customer.plainPool())
    for (const [i, usage] of [90, 110, 300].entries()) await customer.usage(sims[i] ?? 0, usage)
    for (const simId of sims.slice(1)) await customer.untilPhase(simId, cycle.key, 'suspended')

    expect(await customer.sim(sims[0] ?? 0)).toMatchObject({ status: 1 })
  })

  describe('with a hold', () => {
    /** The policy picks all three SIMs: one is suspended, two are held. */
    async function held() {
      await guard(1)
      const pool = await aPool('all', 50, 150, 250)
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
        why: 'rule pool-overage-all may not suspend so many in an hour: 2 SIM(s) wait for a person',
      })
      expect(state.steps.at(-1)).toMatchObject({ outcome: `over: 1 SIM(s) armed, 2 held by hold ${pool.holdId}` })
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
    const pool = await aPool('all', 150, 250)
    await pool.untilState({ held: 1 })
    await untilSuspended(pool, [1])
    const { holdId } = await pool.state()
    await harness.skipTo(cycle.endsAt + MINUTE)
    const { result } = await customer.ended(pool.id)
    expect(result).toMatchObject({ held: 1, holdId, armed: 1 })
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
