import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { inTenant } from '../../../store/tenancy.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, aSim, NOON, useHarness } from '../harness.ts'

const harness = useHarness()
const read = async (of = harness.tenant) => (await of.inside('GET', '/internal/status')).body
const DAY = 86_400_000

test('an empty tenant has a cycle, and nothing that needs a person', async () => {
  expect(await read(harness.other)).toEqual({
    cycle: { key: '2026-11', startsAt: '2026-11-01T00:00:00.000Z', endsAt: '2026-12-01T00:00:00.000Z' },
    usage: { bytes: 0, voiceSeconds: 0, smsCount: 0 },
    sims: { unprovisioned: 0, active: 0, suspended: 0 },
    feed: { receivedAt: null, newestAt: null, staleSince: null },
    enforcementEnabled: true,
    alerts: { critical: 0, warning: 0, info: 0, isWhole: true },
    holds: 0,
    failedTickets: 0,
    failedMails: 0,
    retryingWorkflows: 0,
    longestRetry: null,
    version: expect.stringMatching(/^0\.\d+\.\d+$/),
  })
})

test('figures are those of SIMs, usage and alerts', async () => {
  const { tenant, store } = harness
  const poolId = await aPool(tenant)
  const { id } = await anActiveSim(harness, tenant, { poolId })
  await aSim(tenant)
  const at = new Date(NOON - DAY).toISOString()
  await recordUsage(store, tenant.id, [{ recordId: 'a', simId: id, at, bytesDown: 5_000_000, smsCount: 2 }])
  await writeAlerts(harness, tenant, [{ rule: 'gone', kind: 'sim', id }])

  expect(await read()).toMatchObject({
    usage: { bytes: 5_000_000, smsCount: 2 },
    sims: { unprovisioned: 1, active: 1, suspended: 0 },
    feed: { receivedAt: new Date(NOON).toISOString(), newestAt: at, staleSince: null },
    alerts: { critical: 0, warning: 0, info: 1, isWhole: true },
  })
  expect(await harness.at(NOON + 2 * DAY, read)).toMatchObject({
    feed: { staleSince: new Date(NOON + 1.5 * DAY).toISOString() },
  })
})

test('failures are counted while they are new', async () => {
  const { tenant, store } = harness
  const { id } = await aSim(tenant)
  await tenant.ask('POST', '/api/tickets/provision', { simId: id })
  await inTenant(store, tenant.id, async ({ q }) => {
    await sql`update tickets set status = 3, finished_at = ${new Date(NOON)} where sim_id = ${id}`.execute(q)
    await sql`insert into deliveries (status, next_attempt_at, created_at, mail_id, recipient, kind)
              values ('failed', ${new Date(NOON)}, ${new Date(NOON)}, 'a', 'a@b.example', 'digest')`.execute(q)
    await sql`insert into guard_holds (rule, rule_version, cycle_key, cycle_ends_at, suspended, allowed, opened_at)
              values ('r', 1, '2026-11', '2026-12-01T00:00:00Z', 20, 20, ${new Date(NOON)})`.execute(q)
  })

  expect(await read()).toMatchObject({ holds: 1, failedTickets: 1, failedMails: 1 })
  expect(await harness.at(NOON + DAY, read)).toMatchObject({ holds: 1, failedTickets: 0, failedMails: 1 })
  expect(await harness.at(Date.parse('2026-12-01T00:00:00Z'), read)).toMatchObject({ holds: 0, failedMails: 0 })
})
