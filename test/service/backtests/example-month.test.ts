/**
 * Backtest equals live: hours are lived, and then replayed by the same rules. Entries, mails and suspensions are compared
 * one by one. `HOURS=744` lives the whole example month, which takes seven minutes and more.
 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import { updatePool } from '../../../service/pools/update-pool.ts'
import { tagSim } from '../../../service/sims/tag-sim.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { everythingIn } from '../everything.ts'
import { doneIn, livedMonth, replayedMonth } from './lived.ts'

const HOURS = Number(process.env.HOURS ?? 10)
const TIMEOUT = HOURS * 90_000
const START = '2026-09-30T23:00:00Z'
const [monitored, enforced] = [await aStore(START), await aStore(START)]

test('a replay in Monitor equals live, and changes no row', { timeout: TIMEOUT }, async () => {
  const { tenantId } = await livedMonth(monitored, HOURS)
  const live = await doneIn(monitored.db, tenantId)
  const before = await everythingIn(monitored.databaseUrl)
  const { replayed, came } = await replayedMonth(monitored, tenantId, HOURS)
  expect(came).toEqual(live)
  expect(live.entries.length).toBeGreaterThan(5)
  expect(live.mails.length).toBeGreaterThan(0)
  expect(replayed.undecided).toEqual({ records: 0, tickets: 0, settings: 0 })
  expect(await everythingIn(monitored.databaseUrl)).toEqual(before)
})

test('a replay in Enforce equals live, with settings as they were', { timeout: TIMEOUT }, async () => {
  const caller = { actor: 'cli:ann@host', keyId: null, requestId: 'r', action: 'test', workflowId: null }
  // From hour 5 on the watchdog may suspend, and five SIMs have other names.
  const { tenantId } = await livedMonth(enforced, HOURS, async (hour, harness, sims) => {
    if (hour !== 5) return
    const pools = await harness.rows(sql<{ id: number; name: string; pct: number | null }>`
      select id, name, warning_threshold_pct as pct from pools`)
    await inTenant({ ...enforced, caller }, harness.tenantId, async (tx) => {
      for (const { id, name, pct } of pools)
        await updatePool(tx, { id, name, watchdogMode: WatchdogMode.Enforce, warningThresholdPct: pct })
      for (const [, id] of [...sims].slice(0, 5)) await tagSim(tx, { id, tag: `renamed ${id}` })
    })
  })
  const live = await doneIn(enforced.db, tenantId)
  const { came } = await replayedMonth(enforced, tenantId, HOURS)
  expect(came).toEqual(live)
  expect(live.suspensions.length).toBeGreaterThan(0)
})
