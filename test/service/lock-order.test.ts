/** Transactions that need the same rows lock them in one order, so that none is aborted by a deadlock. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { SimStatus, TariffType, WatchdogMode } from '../../domain/codes.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { MB } from '../../domain/units.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { changeEnforcement } from '../../service/enforcement/change-enforcement.ts'
import { lockGuard } from '../../service/enforcement/rows/permits.ts'
import { activateRules } from '../../service/rules/rules-in-force.ts'
import { importSims } from '../../service/sims/import-sims.ts'
import { currentCycle } from '../../service/usage/rows/cycles.ts'
import { lockMerge } from '../../service/usage/rows/merge.ts'
import { lockPools } from '../../service/usage/rows/pool-totals.ts'
import { prepareSoFar } from '../../service/usage/used-so-far.ts'
import { insertNotifications } from '../../store/notifications.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aStore } from '../setup/estate.ts'
import { lockWaiters } from '../setup/lock-waits.ts'
import { soon } from '../setup/soon.ts'
import { anAlert } from '../unit/channels/notifications.ts'
import { aHarness, askedPermits, evaluationOptions, oneActiveSim, watch } from './harness.ts'

const store = await aStore()
await activateRules(store, await readRuleFiles(''), 'the tests')
const options = evaluationOptions()
const CYCLE = '2026-11'
const notify = (tx: TenantTx, key: string) => insertNotifications(tx, [{ body: anAlert({ key }), dueAt: tx.now }])

/** The first transaction takes a lock, and goes on once the second waits for that lock. */
async function meeting(
  tenantId: string,
  first: { readonly lock: (tx: TenantTx) => Promise<unknown>; readonly goOn: (tx: TenantTx) => Promise<unknown> },
  second: () => Promise<unknown>,
): Promise<void> {
  const locked = Promise.withResolvers<void>()
  const waits = Promise.withResolvers<void>()
  const one = inTenant(store, tenantId, async (tx) => {
    await first.lock(tx)
    locked.resolve()
    await waits.promise
    await first.goOn(tx)
  })
  await Promise.race([locked.promise, one])
  const other = second()
  await soon(async () => expect(await lockWaiters(store)).toBe(1))
  waits.resolve()
  await Promise.all([one, other])
}

describe('the lock order', () => {
  test('lets evaluateSubjects and askPermits meet without deadlock', async () => {
    const harness = await aHarness(store)
    const poolId = await harness.aPool(TariffType.Standard, 100 * MB, { watchdogMode: WatchdogMode.Enforce })
    const [cleared = 0, warned = 0] = await harness.activeSims(2, { poolId })
    await harness.asTenant((tx) => changeEnforcement(tx, { guardLeast: 1, guardPct: 0 }))
    await harness.record([harness.usage(cleared, { bytesDown: 101 * MB })])
    await watch(store, options, harness.tenantId)
    store.now += 60_000
    await harness.record([
      harness.usage(cleared, { bytesDown: -50 * MB, correction: true }),
      harness.usage(warned, { bytesDown: 101 * MB }),
    ])
    const ask = {
      rule: 'sim-overage',
      cycle: CYCLE,
      poolId: null,
      simIds: [cleared, warned],
      workflowId: suspendOnOverageId(harness.tenantId, cleared, CYCLE),
    }

    await meeting(harness.tenantId, { lock: lockGuard, goOn: (tx) => askedPermits(tx, ask) }, () =>
      watch(store, options, harness.tenantId),
    )

    const keys = await harness.rows(sql`select dedupe_key as key from notifications`)
    for (const part of ['guard/', `/sim/${warned}/`])
      expect(keys).toContainEqual({ key: expect.stringContaining(part) })
  })

  test('allows notifications before or after pool locks', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    await harness.record([harness.usage(simId, { bytesDown: 1 })])
    const { key } = await harness.asTenant(currentCycle)
    const lock = (tx: TenantTx) => lockPools(tx, key, [0])

    await meeting(harness.tenantId, { lock, goOn: (tx) => notify(tx, 'after') }, () =>
      harness.asTenant(async (tx) => {
        await notify(tx, 'before')
        await lock(tx)
      }),
    )

    expect(await harness.rows(sql`select 1 from notifications`)).toHaveLength(2)
  })

  test.each<[string, (tx: TenantTx, poolId: number) => Promise<unknown>]>([
    [
      'a ticket',
      (tx, poolId) => sql`update pools set active_sim_count = active_sim_count where id = ${poolId}`.execute(tx.q),
    ],
    ['usage', lockMerge],
  ])('lets %s and a takeover meet in a pool without deadlock', async (what, lock) => {
    const harness = await aHarness(store)
    const poolId = await harness.aPool(TariffType.Standard, MB)
    await prepareSoFar(store, harness.tenantId)
    const iccid = `894450300000000000${what.length}`
    const sim = { iccid, status: SimStatus.Active, poolId, activatedAt: '2026-03-01T00:00:00Z', usageBytes: 7 }
    const goOn = (tx: TenantTx) => lockPools(tx, CYCLE, [poolId])

    await meeting(harness.tenantId, { lock: (tx) => lock(tx, poolId), goOn }, () =>
      harness.asTenant((tx) => importSims(tx, [sim])),
    )

    expect(await harness.ledger()).toMatchObject([{ poolId, contributing: true, bytes: 7 }])
  })
})
