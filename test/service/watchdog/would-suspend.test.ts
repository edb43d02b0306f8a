/** What the log says of suspensions that a rule may only wish for. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, SimStatus, TariffType, WatchdogMode } from '../../../domain/codes.ts'
import type { EnforcementChange } from '../../../domain/enforcement/guard.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { MB } from '../../../domain/units.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { logWould } from '../../../service/enforcement/log-would.ts'
import { evaluateAll } from '../../../service/watchdog/evaluate-all.ts'
import { rememberStarts } from '../../../store/outbox.ts'
import { byHand } from '../../setup/estate.ts'
import { asShipped, aWorld, firesOn, OVERAGE, only, type WorldOptions } from './alert-world.ts'

const [MINUTE, DAY] = [60_000, 86_400_000]
const POOL_OVERAGE = only({ 'pool-overage': asShipped })

async function aMonitoredWorld(options: Partial<WorldOptions> & { limits?: EnforcementChange } = {}) {
  const { limits = {}, ...rest } = options
  const world = await aWorld({ rules: OVERAGE, mode: WatchdogMode.Monitor, sims: 3, ...rest })
  await world.asTenant((tx) => changeEnforcement(tx, limits))
  const record = async (megabytes: readonly number[]) => {
    await world.record(
      megabytes.map((used, i) => world.usage(world.sims[i] ?? 0, { bytesDown: Math.round(used * MB) })),
    )
    world.store.now += MINUTE
  }
  return {
    ...world,
    record,
    /** Records usage of the first SIMs, in MB, and has it evaluated. */
    useEach: async (...megabytes: readonly number[]) => {
      await record(megabytes)
      await world.evaluate()
    },
    /** Evaluates the SIMs, and leaves undone what follows the commit. */
    evaluateOnly: () =>
      evaluateAll(
        world,
        world.sims.map((id) => ({ kind: 'sim', id })),
      ),
    would: async () => (await world.log()).filter(({ key }) => key.includes('/wouldSuspend/')),
    listed: () => world.rows(sql<{ id: number }>`select subject_id as id from would_suspend order by 1`),
    set: (simId: number, column: string, value: unknown) =>
      world.asTenant(async (tx) => {
        await byHand(tx)
        await sql`update sims set ${sql.ref(column)} = ${value} where id = ${simId}`.execute(tx.q)
      }),
  }
}

describe('a suspension that a rule may only wish for', () => {
  test('is logged with the reason of the rule itself', async () => {
    const world = await aMonitoredWorld({ sims: 1 })
    await world.useEach(1)
    await world.awaitUsage('P20D')
    const params = {
      message: 'last seen {{hoursSinceLastSeen}} hours ago',
      resolvedMessage: undefined,
      actions: ['log', 'suspend'],
      suspend: { target: 'self', grace: 'PT0S', until: 'manual' },
      for: 'PT0S',
      stage: 'enforce',
      clear: undefined,
    }
    const leaf = { fact: 'hoursSinceLastSeen', operator: 'greaterThanInclusive', value: 24 }
    await world.put(only({ 'sim-silent': firesOn(leaf, [24, 1], params) }))
    await world.evaluate()
    await world.wait(3 * DAY)

    expect(await world.would()).toMatchObject([
      {
        simId: world.sim,
        message: expect.stringMatching(
          /^SIM \d+ would have been suspended by rule sim-silent: last seen 3 d ago\. The watchdog only monitors here\.$/,
        ),
      },
    ])
    expect(await world.listed()).toEqual([])
  })

  test('names the pool’s reason and the SIM’s excess for a rule about pools', async () => {
    const world = await aMonitoredWorld({ rules: POOL_OVERAGE, tariff: TariffType['Dynamic Pool'] })
    await world.useEach(150, 200)

    expect(await world.would()).toMatchObject([
      {
        simId: world.sims[1],
        poolId: world.poolId,
        level: LogLevel.Warning,
        message: expect.stringMatching(
          /^SIM \d+, 100 MB above its share, would have been suspended by rule pool-overage: .*50 MB over/,
        ),
      },
    ])
  })

  test('passes over whom the last look before a suspension would', async () => {
    const world = await aMonitoredWorld({ sims: 4 })
    const [stopped = 0, undone = 0, exempt = 0, other = 0] = world.sims
    await world.record([101, 101, 101, 101])
    await world.evaluateOnly()
    await world.set(stopped, 'status', SimStatus.Suspended)
    await world.set(exempt, 'is_watchdog_exempt', true)
    const run = suspendOnOverageId(world.tenantId, undone, '2026-11')
    await world.asTenant((tx) => rememberStarts(tx, [run]))
    await world.rows(sql`update workflow_starts set held = true where workflow_id = ${run} returning 1`)

    await logWould(world.store, world.tenantId)

    expect((await world.would()).map(({ simId }) => simId)).toEqual([other])
  })

  test('passes over SIMs that a pool’s rule may not pick', async () => {
    const world = await aMonitoredWorld({ rules: POOL_OVERAGE, tariff: TariffType['Dynamic Pool'] })
    const [own = 0, , third = 0] = world.sims
    await world.set(own, 'watchdog_mode', WatchdogMode.Monitor)
    await world.useEach(250, 50, 150)

    expect((await world.would()).map(({ simId }) => simId)).toEqual([third])
  })

  test('says whom the guard would hold', async () => {
    const world = await aMonitoredWorld({ limits: { guardLeast: 2, guardPct: 0 } })
    await world.useEach(101, 101)
    await world.useEach(1, 1, 101)

    const [held, ...passed] = (await world.would()).toReversed()
    expect(passed.map(({ message }) => message.includes('would have been suspended by'))).toEqual([true, true])
    expect(held).toMatchObject({
      simId: world.sims[2],
      message: expect.stringContaining('would have been held by the guard on rule sim-overage'),
    })
  })

  test('is logged once though workers die and meet', async () => {
    const world = await aMonitoredWorld({ limits: { guardLeast: 3, guardPct: 0 } })
    await world.record([101, 101, 101])
    await world.evaluateOnly()
    const left = await world.listed()

    await Promise.all(Array.from({ length: 4 }, () => logWould(world.store, world.tenantId)))
    await world.evaluateOnly()
    await world.evaluate()

    expect(left).toHaveLength(3)
    expect((await world.would()).map(({ message }) => message.includes('suspended'))).toEqual([true, true, true])
    expect(await world.rows(sql`select sum(passed)::integer as passed from guard_counts where what = 'would'`)).toEqual(
      [{ passed: 3 }],
    )
  })

  test('is not logged once the rule may suspend', async () => {
    const world = await aMonitoredWorld({ sims: 1 })
    await world.record([101])
    await world.evaluateOnly()
    await world.rows(sql`
      update pools set watchdog_mode = ${WatchdogMode.Enforce} where id = ${world.poolId} returning 1`)
    await world.evaluateOnly()

    await logWould(world.store, world.tenantId)

    expect(await world.would()).toEqual([])
    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('does not hold up the others if it fails', async () => {
    const world = await aMonitoredWorld({ rules: POOL_OVERAGE, tariff: TariffType['Dynamic Pool'] })
    await world.useEach(150, 200)
    const failed: number[] = []
    await world.rows(sql`
      insert into would_suspend (rule, subject_kind, subject_id, cycle_key, rule_version, target, reason, due_at)
      values ('pool-overage', 2, ${world.poolId}, '2026-11', 1, 'nobody', 'it is over', ${new Date(world.store.now)}),
             ('sim-overage', 1, ${world.sim}, '2026-11', 1, 'self', 'it is over', ${new Date(world.store.now)})
      returning 1`)

    await logWould(world.store, world.tenantId, ({ id }) => failed.push(id))

    expect(failed).toEqual([world.poolId])
    expect(await world.listed()).toEqual([{ id: world.poolId }])
  })
})
