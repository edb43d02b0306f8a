/** How many tickets a tenant may have open, so that one tenant leaves the carrier room for the others. */
import { CompiledQuery, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { statementsIn } from '../../setup/count-statements.ts'
import { anActiveSim, aTenant, type Tenant, times, useHarness } from '../harness.ts'

const harness = useHarness({ ticketQuota: { perSim: 6, smsPerSim: 2, perTenant: 10 } })

const activeSims = (tenant: Tenant, count: number): Promise<number[]> =>
  times(count, async () => (await anActiveSim(harness, tenant)).id)
const refresh = ({ ask }: Tenant, simId = 0) => ask('POST', '/api/tickets/refresh', { simId })
const sms = ({ ask }: Tenant, simId = 0) => ask('POST', '/api/tickets/send-sms', { simId, message: 'reboot' })

const statuses = (count: number, ask: () => Promise<{ status: number }>): Promise<number[]> =>
  times(count, async () => (await ask()).status)

describe('the ticket quota of a SIM', () => {
  test('allows six open tickets, two of them SMS', async () => {
    const tenant = await aTenant(harness, 'Of a SIM')
    const [simId, other] = await activeSims(tenant, 2)

    expect(await statuses(3, () => sms(tenant, simId))).toEqual([200, 200, 429])
    expect(await statuses(5, () => refresh(tenant, simId))).toEqual([200, 200, 200, 200, 429])
    const [third, seventh] = [await sms(tenant, simId), await refresh(tenant, simId)]

    for (const answer of [third, seventh]) {
      expect(answer).toMatchObject({ status: 429, body: { code: 'quota_exceeded' } })
      expect(answer.headers['retry-after']).toBe('30')
    }
    const end = 'is the quota of a SIM. Try again when one has ended, or cancel one.'
    expect(third.body.detail).toBe(`SIM ${simId} has 2 open SMS tickets, and 2 ${end}`)
    expect(seventh.body.detail).toBe(`SIM ${simId} has 6 open tickets, and 6 ${end}`)
    expect((await refresh(tenant, other)).status).toBe(200)
  })

  test('holds under twelve requests at once', async () => {
    const tenant = await aTenant(harness, 'At once')
    const [simId] = await activeSims(tenant, 1)

    const answers = await Promise.all(Array.from({ length: 12 }, () => refresh(tenant, simId)))

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(6)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(6)
  })

  test('has room again after a cancellation', async () => {
    const tenant = await aTenant(harness, 'Room')
    const [simId] = await activeSims(tenant, 1)
    const first = await refresh(tenant, simId)
    expect(await statuses(6, () => refresh(tenant, simId))).toEqual([200, 200, 200, 200, 200, 429])

    await tenant.ask('DELETE', `/api/tickets/${first.body.id}`)

    expect(await statuses(2, () => refresh(tenant, simId))).toEqual([200, 429])
  })
})

describe('the ticket quota of a tenant', () => {
  test('allows ten open tickets of each tenant', async () => {
    const [tenant, other] = [await aTenant(harness, 'Full'), await aTenant(harness, 'Free')]
    const [a, b, c] = await activeSims(tenant, 3)
    const [theirs] = await activeSims(other, 1)
    await statuses(5, () => refresh(tenant, a))
    await statuses(5, () => refresh(tenant, b))

    const refused = await refresh(tenant, c)

    expect(refused).toMatchObject({ status: 429, body: { code: 'quota_exceeded' }, headers: { 'retry-after': '30' } })
    expect(refused.body.detail).toBe(
      'This tenant has 10 open tickets, and 10 is the quota of a tenant. Try again when some have ended, or cancel some.',
    )
    expect((await refresh(other, theirs)).status).toBe(200)
  })

  test('ignores tickets of workflows, month ends and bulk runs', async () => {
    const tenant = await aTenant(harness, 'Apart')
    const [full, free, bulk] = await activeSims(tenant, 3)
    await statuses(5, () => refresh(tenant, full))
    await statuses(5, () => refresh(tenant, free))
    const asks = [
      ['watchdog', { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' }],
      ['workflow', { by: 'workflow', workflowId: 'w' }],
      ['month end', { by: 'month-end', cycle: '2026-11' }],
    ] as const
    for (const [who, cause] of asks) {
      const open = (type: 'suspend' | 'activate') =>
        tenant.inside('POST', `/internal/tickets/${type}`, { simId: full, cause })
      expect([who, (await open('suspend')).status, (await open('activate')).status]).toEqual([who, 200, 200])
    }
    const run = { type: 'refresh', sims: { ids: [bulk] } }
    expect((await tenant.inside('POST', '/internal/bulk-tickets', run)).status).toBeLessThan(300)

    expect((await refresh(tenant, free)).status).toBe(429)
    const { body } = await tenant.ask('GET', '/api/tickets')
    const mine = body.find(({ simId, type }: { simId: number; type: number }) => simId === free && type === 4)
    await tenant.ask('DELETE', `/api/tickets/${mine.id}`)
    expect(await statuses(2, () => refresh(tenant, free))).toEqual([200, 429])
  })

  test('counts without reading tickets that have ended', async () => {
    const tenant = await aTenant(harness, 'History')
    const [simId = 0] = await activeSims(tenant, 1)
    await sql`
      insert into tickets (id, tenant_id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at, counts)
      select gen_random_uuid(), ${tenant.id}, ${simId}, 4, 2, now(), '{"by": "user"}', now(), now(), true
        from generate_series(1, 20000)`.execute(harness.root)
    await sql`vacuum analyze tickets`.execute(harness.root)
    const statements = await statementsIn(async () => {
      expect((await refresh(tenant, simId)).status).toBe(200)
    })

    const counting = statements.filter(({ text }) => /from tickets\s+where .*counts/.test(text))
    expect(counting).toHaveLength(1)
    const [{ text, values } = { text: '', values: [] }] = counting
    const { rows } = await inTenant(harness.store, tenant.id, (tx) =>
      tx.q.executeQuery<Record<string, string>>(CompiledQuery.raw(`explain ${text}`, values)),
    )
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('tickets_counted')
  })
})

test('openTicket itself applies no quota', async () => {
  const tenant = await aTenant(harness, 'Own')
  const [simId = 0] = await activeSims(tenant, 1)

  for (let n = 0; n < 12; n++) {
    await inTenant(harness.store, tenant.id, (tx) => openTicket(tx, { simId, type: 4, cause: { by: 'user' } }))
  }
  expect((await refresh(tenant, simId)).status).toBe(429)
})
