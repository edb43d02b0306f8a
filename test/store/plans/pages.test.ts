/** A page of a streamed list costs a page, also in a database without any statistics, as an installation's first hour has. */
import { CompiledQuery, sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { listLog } from '../../../service/alerts/rows/log.ts'
import { listPoolSims, listSims } from '../../../service/sims/rows/sim-reads.ts'
import { listTickets } from '../../../service/tickets/rows/tickets.ts'
import { listEvents } from '../../../store/events.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { anIccid, aPool, useHarness } from '../../api/harness.ts'
import { statementsIn } from '../../setup/count-statements.ts'

const harness = useHarness()
const MANY = 10_000
let poolId: number

beforeAll(async () => {
  poolId = await aPool(harness.tenant)
  const of = { status: 1, poolId, activatedAt: '2026-03-01T00:00:00Z' }
  const sims = Array.from({ length: MANY }, () => ({ iccid: anIccid(), ...of }))
  await harness.tenant.inside('POST', '/internal/sims', { sims })
  await inTenant(harness.store, harness.tenant.id, async ({ q, now }) => {
    await sql`insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
              select gen_random_uuid(), id, 2, 2, ${now}, '{"by": "user"}', ${now}, ${now} from sims`.execute(q)
    await sql`insert into events (tenant_id, type, severity, title, description, at)
              select tenant_id, 0, 0, 'Told', 'Told', ${now} from sims`.execute(q)
    await sql`insert into watchdog_log (dedupe_key, rule, rule_version, sim_id, level, message, at, cycle_key)
              select 'told ' || id, 'sim-silent', 1, id, 0, 'silent', ${now}, '2026-11' from sims`.execute(q)
  })
})

test.each([
  ['tickets', 'Index Scan', () => listTickets(harness.store, harness.tenant.id)],
  ['events', 'Index Scan', () => listEvents(harness.store, harness.tenant.id, {})],
  ['watchdog_log', 'Index Scan', () => listLog(harness.store, harness.tenant.id, {})],
  ['sims', 'Index Only Scan', () => listSims(harness.store, harness.tenant.id, {})],
  ['sims of a pool', 'Index Scan', () => listPoolSims(harness.store, harness.tenant.id, poolId)],
])('%s: a page is read in the order of an index', async (name, scan, list) => {
  const asked = await statementsIn(() => list().next())
  const [table] = name.split(' ')
  const { text, values } = asked.find((one) => one.text.includes(`from ${table}`)) ?? { text: '', values: [] }

  const plan = await inTenant(harness.store, harness.tenant.id, async ({ q }) => {
    const { rows } = await q.executeQuery<object>(CompiledQuery.raw(`explain ${text}`, values))
    return rows.flatMap(Object.values).join('\n')
  })

  expect(plan).toMatch(new RegExp(`${scan} .*on ${table}`))
  // A bitmap has no order: all that it finds is sorted. Of the platform's events, which have no tenant, there are few.
  expect(plan).not.toMatch(new RegExp(`Bitmap Heap Scan on ${table}.*\n *Recheck Cond: \\(+(tenant_id|pool_id) =`))
})
