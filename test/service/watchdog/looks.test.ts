/** Which subjects are looked at and when, and which of them the engine evaluates. */
import { type RawBuilder, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { evaluateSubjects } from '../../../service/watchdog/evaluate-subjects.ts'
import type { EvaluationOptions } from '../../../service/watchdog/evaluation-options.ts'
import { sweepSubjects } from '../../../service/watchdog/sweep-subjects.ts'
import { tenantsChanged } from '../../../store/changed.ts'
import { markDue } from '../../../store/due.ts'
import { claimShard, lookAtAll, settleShard, splitShard, tenantsToSweep } from '../../../store/shards.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { aHarness, evaluationOptions, watch } from '../harness.ts'

const HOUR = 3_600_000
const BEGIN = '2026-11-10T00:00:00Z'

/** A tenant whose SIMs have a tariff of 100 MB each, and have been looked at. */
async function anEstate(count: number) {
  const store = await aStore(BEGIN)
  await activateRules(store, await readRuleFiles(''), 'the tests')
  const harness = await aHarness(store)
  const tariff = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 100 * MB))
  const sims = await harness.activeSims(count, { tariffId: tariff.id })
  let evaluated = 0
  const onDecided = ({ subjects }: { readonly subjects: number }) => {
    evaluated += subjects
  }
  const options = { ...evaluationOptions(), onDecided }
  await watch(store, options, harness.tenantId)
  return {
    ...harness,
    store,
    sims,
    options,
    watch: () => watch(store, options, harness.tenantId),
    sweep: (most?: number, page?: number) => sweepSubjects(store, options, harness.tenantId, { most, page }),
    /** The SIMs that the log says are over their limit. */
    fired: async () =>
      (await harness.log()).filter(({ key }) => /^sim-overage.*fired$/.test(key)).map(({ simId }) => simId),
    /** Uses more than each SIM's limit, of which nothing but a sweep then finds. */
    useUnseen: async () => {
      await harness.record(sims.map((simId) => harness.usage(simId, { bytesDown: 101 * MB })))
      await harness.rows(sql`delete from changed_subjects`)
      await harness.asTenant(lookAtAll)
    },
    /** How many subjects the engine has evaluated since the last call. */
    evaluated: () => {
      const since = evaluated
      evaluated = 0
      return since
    },
    /** The shards of SIMs. */
    shards: () =>
      harness.rows(sql<{ fromId: number; toId: number | null; nextAt: Date }>`
        select from_id as "fromId", to_id as "toId", next_at as "nextAt"
          from watch_shards where subject_kind = 1 order by 1`),
    isDue: async () => (await inPlatform(store, tenantsToSweep)).includes(harness.tenantId),
  }
}

/** Options of a worker that loses its connection, as PostgreSQL says it, once there are such rows. */
const lostOnce = (options: EvaluationOptions, rows: RawBuilder<unknown>): EvaluationOptions => ({
  ...options,
  rules: async (tx) => {
    if ((await rows.execute(tx.q)).rows.length > 0) throw Object.assign(new Error('gone'), { code: '57P01' })
    return options.rules(tx)
  },
})

/** A SIM that became silent after 36 hours, 5 % of November, an hour ago, and what was pending two hours ago. */
async function aSilentSim() {
  const estate = await anEstate(2)
  const [calm = 0, silent = 0] = estate.sims
  await estate.record(estate.sims.map((simId) => estate.usage(simId, { bytesDown: 1 })))
  await estate.watch()
  estate.store.now += 35 * HOUR
  await estate.record([estate.usage(calm, { bytesDown: 1 })])
  await estate.watch()
  const pending = () =>
    estate.rows(sql<{ rule: string; id: number }>`
      select rule, subject_id as id from alerts where state ->> 'phase' = 'pending'`)
  const before = await pending()
  estate.store.now += 2 * HOUR
  await estate.watch()
  return { estate, silent, pending, before }
}

describe('usage', () => {
  test('has the engine evaluate only the SIMs for which something changes', async () => {
    const estate = await anEstate(20)
    estate.evaluated()

    await estate.record(estate.sims.map((simId, n) => estate.usage(simId, { bytesDown: n < 2 ? 101 * MB : MB })))
    await estate.watch()

    expect(estate.evaluated()).toBe(2)
    expect(await estate.fired()).toEqual(estate.sims.slice(0, 2))
  })

  test('is looked at again after the lease of a worker that died with it', async () => {
    const estate = await anEstate(1)
    const { store, tenantId, options } = estate
    await estate.record([estate.usage(estate.sims[0] ?? 0, { bytesDown: 101 * MB })])
    const dies = lostOnce(options, sql`select from changed_subjects where claimed_until > ${new Date(store.now)}`)

    await expect(evaluateSubjects(store, dies, tenantId)).rejects.toThrow('gone')
    await estate.watch()
    const meanwhile = await estate.log()
    store.now += 61_000
    const isFound = (await inPlatform(store, tenantsChanged)).includes(tenantId)
    await estate.watch()

    expect(meanwhile).toEqual([])
    expect(isFound).toBe(true)
    expect((await estate.log()).map(({ key }) => key.split('/')[0])).toContain('sim-overage')
    expect(await estate.rows(sql`select from changed_subjects`)).toEqual([])
  })

  test('leaves the rest of its work for the next turn', async () => {
    const estate = await anEstate(2)
    for (const simId of estate.sims) await estate.record([estate.usage(simId, { bytesDown: 101 * MB })])

    const isLeft = await evaluateSubjects(estate.store, estate.options, estate.tenantId, 0)
    const rest = await evaluateSubjects(estate.store, estate.options, estate.tenantId, 60_000)

    expect([isLeft, rest]).toEqual([true, false])
  })
})

describe('a sweep', () => {
  test('finds a SIM that has become silent, though nothing happened to it', async () => {
    const { silent, pending, before } = await aSilentSim()

    expect(before).toEqual([])
    expect(await pending()).toEqual([{ rule: 'sim-silent', id: silent }])
  })

  test('comes back when time alone may change an answer', async () => {
    const estate = await anEstate(1)
    const next = (await estate.shards())[0]?.nextAt

    // A SIM that was never seen is one that could be logged once it has been Active for 5 % of the cycle.
    expect(next).toEqual(new Date(estate.store.now + 36 * HOUR))
  })

  test('splits a shard that has too many subjects, and looks at all of them', async () => {
    const estate = await anEstate(5)
    await estate.asTenant(lookAtAll)

    while (await estate.sweep(2));

    const [a = 0, , c = 0, , e = 0] = estate.sims
    const shards = await estate.shards()
    expect(shards.map(({ fromId, toId }) => [fromId, toId])).toEqual([
      [0, c],
      [c, e],
      [e, null],
    ])
    expect(a).toBeLessThan(c)
    expect(await estate.isDue()).toBe(false)
  })

  test('looks at a shard page by page, and at every subject once', async () => {
    const estate = await anEstate(7)
    await estate.useUnseen()
    estate.evaluated()

    while (await estate.sweep(undefined, 3));

    expect(estate.evaluated()).toBe(7)
    expect(await estate.fired()).toEqual(estate.sims)
    expect(await estate.shards()).toHaveLength(1)
  })

  test('is looked at whole though its worker died in the middle', async () => {
    const estate = await anEstate(7)
    await estate.useUnseen()
    const told = async () => (await estate.fired()).length
    const dies = lostOnce(estate.options, sql`select from alerts where rule = 'sim-overage' and firing`)
    const sweepAndDie = async () => {
      while (await sweepSubjects(estate.store, dies, estate.tenantId, { page: 3 }));
    }

    await expect(sweepAndDie()).rejects.toThrow('gone')
    const meanwhile = await told()
    estate.store.now += 121_000
    while (await estate.sweep(undefined, 3));

    expect([meanwhile > 0, meanwhile < 7]).toEqual([true, true])
    expect(await told()).toBe(7)
  })

  test('looks again where somebody has asked for it meanwhile', async () => {
    const estate = await anEstate(1)
    const { store } = estate
    await estate.asTenant(lookAtAll)
    const shard = await estate.asTenant((tx) => claimShard(tx, new Date(store.now + HOUR)))
    if (shard === undefined) throw new Error('no shard is due')

    await estate.asTenant(lookAtAll)
    await estate.asTenant((tx) => settleShard(tx, shard, new Date(store.now + HOUR)))

    const after = (await estate.shards()).find(({ fromId }) => fromId === shard.fromId)
    expect(after?.nextAt).toEqual(new Date(store.now))
  })

  test('splits a shard once, though two workers find it too large', async () => {
    const estate = await anEstate(3)
    const [, second = 0, third = 0] = estate.sims
    await estate.asTenant(lookAtAll)
    const shard = await estate.asTenant((tx) => claimShard(tx, new Date(estate.store.now + HOUR)))
    if (shard === undefined) throw new Error('no shard is due')

    await estate.asTenant((tx) => splitShard(tx, shard, second))
    await estate.asTenant((tx) => splitShard(tx, shard, third))

    const shards = await estate.shards()
    expect(shards.map(({ fromId }) => fromId)).toEqual([0, second])
  })
})

describe('a due mark', () => {
  const marks = (estate: Awaited<ReturnType<typeof anEstate>>) =>
    estate.rows(sql<{ kind: number; id: number; at: Date }>`
      select subject_kind as kind, subject_id as id, due_at as at from due_subjects order by 1, 2`)

  test('of the end of a `for` stays when the SIM is touched before', async () => {
    const { estate, silent } = await aSilentSim()
    // A tenth of November.
    const endsAt = new Date(estate.store.now + 72 * HOUR)
    expect(await marks(estate)).toEqual([{ kind: 1, id: silent, at: endsAt }])

    estate.store.now += HOUR
    await estate.asTenant((tx) => markDue(tx, [{ kind: 'sim', id: silent }]))
    await estate.watch()

    expect(await marks(estate)).toEqual([{ kind: 1, id: silent, at: endsAt }])
  })

  test('of a pool that is over stays when the pool is evaluated before', async () => {
    const estate = await anEstate(1)
    const { store } = estate
    const poolId = await estate.aPool(TariffType['Dynamic Pool'], 1000, { watchdogMode: WatchdogMode.Enforce })
    const [simId = 0] = await estate.activeSims(1, { poolId })
    await estate.record([estate.usage(simId, { bytesDown: 5000 })])
    await estate.watch()
    const again = [{ kind: 2, id: poolId, at: new Date(store.now + 60_000) }]
    expect(await marks(estate)).toEqual(again)

    store.now += 30_000
    await estate.asTenant((tx) => markDue(tx, [{ kind: 'pool', id: poolId }]))
    await estate.watch()

    expect(await marks(estate)).toEqual(again)
  })
})
