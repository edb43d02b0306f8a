/** Notices of a tenant: their settings, their addresses, and those that wait. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { insertNotifications } from '../../../store/notifications.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { lockWaiters } from '../../setup/lock-waits.ts'
import { soon } from '../../setup/soon.ts'
import { aWarning } from '../../unit/channels/notifications.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const URL = '/internal/tenant/notices'
const SETTINGS = { timeZone: 'Europe/Berlin', feedEvery: 'PT1H', escalateAfter: 'PT30M', mailsFrom: 1 }

const FIRST = { timeZone: 'UTC', feedEvery: 'P1D', escalateAfter: null, mailsFrom: 0 }

test('GET /internal/tenant/notices answers UTC, a day and no escalation at first', async () => {
  expect(await harness.other.inside('GET', URL)).toMatchObject({ status: 200, body: FIRST })
})

describe('PUT /internal/tenant/notices', () => {
  test('replaces the settings, and says so in an event and in the audit trail', async () => {
    const put = await harness.tenant.inside('PUT', URL, SETTINGS)
    const again = await harness.tenant.inside('PUT', URL, SETTINGS)
    const { data: events } = (await harness.tenant.ask('GET', '/api/events?searchTerm=notices')).body
    const { data: trail } = (await harness.tenant.inside('GET', '/internal/audit?subject=tenant')).body

    expect([put, again]).toMatchObject([
      { status: 200, body: SETTINGS },
      { status: 200, body: SETTINGS },
    ])
    expect(await harness.tenant.inside('GET', URL)).toMatchObject({ body: SETTINGS })
    expect(events).toMatchObject([
      {
        title: 'Tenant changed: notices',
        description:
          'Mails show instants of the time zone Europe/Berlin. Usage is expected every PT1H. A Critical alert that nobody acknowledges is escalated after PT30M. Mailed are Warning and Critical alerts.',
      },
    ])
    expect(trail[0]).toMatchObject({ action: 'changeNotices', before: FIRST, after: SETTINGS })
  })

  test.each([
    ['an unknown time zone', { timeZone: 'Europe/Atlantis' }, '/timeZone: got Europe/Atlantis'],
    ['an offset for a time zone', { timeZone: '+02:00' }, '/timeZone'],
    ['less than a minute', { feedEvery: 'PT59S' }, '/feedEvery: got PT59S, expected PT1M to P31D'],
    ['more than 31 days', { feedEvery: 'P32D' }, '/feedEvery: got P32D'],
    ['months', { feedEvery: 'P1M' }, '/feedEvery'],
    ['an escalation at once', { escalateAfter: 'PT0S' }, '/escalateAfter: got PT0S, expected PT1M to P7D, or null'],
    ['an escalation after 8 days', { escalateAfter: 'P8D' }, '/escalateAfter: got P8D'],
  ])('refuses %s', async (_what, change, detail) => {
    const { status, body } = await harness.tenant.inside('PUT', URL, { ...SETTINGS, ...change })

    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(JSON.stringify(body)).toContain(detail)
    expect(body.errors).toHaveLength(1)
  })

  test('names every wrong field', async () => {
    const wrong = { timeZone: 'Moon', feedEvery: 'P99D', escalateAfter: 'P9D' }
    const { body } = await harness.tenant.inside('PUT', URL, { ...wrong, mailsFrom: 0 })

    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer)
    expect(pointers).toEqual(['/timeZone', '/feedEvery', '/escalateAfter'])
  })

  test('takes nothing back of what another has changed', async () => {
    const { headers } = await harness.tenant.inside('GET', URL)
    const ifMatch = { 'if-match': String(headers.etag) }
    const change = (timeZone: string) => harness.tenant.inside('PUT', URL, { ...SETTINGS, timeZone }, ifMatch)

    expect([(await change('Asia/Tokyo')).status, (await change('Africa/Cairo')).status]).toEqual([200, 412])
    expect(await harness.tenant.inside('GET', URL)).toMatchObject({ body: { timeZone: 'Asia/Tokyo' } })
  })
})

test('GET /internal/counts misses no notification while a mail takes it', async () => {
  const { id: tenantId } = harness.tenant
  await inTenant(harness.store, tenantId, (tx) =>
    insertNotifications(tx, [{ body: aWarning({ key: 'waiting/1' }), dueAt: tx.now }]),
  )

  const counting = await harness.root.transaction().execute(async (sender) => {
    await sql`lock table notifications in access exclusive mode`.execute(sender)
    const counts = harness.tenant.inside('GET', '/internal/counts')
    await soon(async () => expect(await lockWaiters(harness.store)).toBe(1))
    await sql`
      insert into deliveries (tenant_id, mail_id, recipient, kind, next_attempt_at, created_at)
      values (${tenantId}, '<1@simherd>', 'billing@meadow.example', 'grouped', now(), now())`.execute(sender)
    await sql`update notifications set mail_id = '<1@simherd>' where tenant_id = ${tenantId}`.execute(sender)
    return { counts }
  })

  const { due, mailsByStatus } = (await counting.counts).body
  expect(due.notices + (mailsByStatus.pending ?? 0)).toBeGreaterThan(0)
})

const DOORS: Readonly<Record<string, (email: string) => ReturnType<typeof harness.operate>>> = {
  billingEmail: (billingEmail) => harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail }),
  'billingEmail of a new tenant': (billingEmail) =>
    harness.operate('POST', '/internal/tenants', { name: 'Meadow', billingEmail }),
  'email of a copy': (email) => harness.tenant.inside('POST', '/internal/addresses', { kind: 'copy', email }),
  'email of an escalation': (email) =>
    harness.tenant.inside('POST', '/internal/addresses', { kind: 'escalation', email }),
}

test.each(Object.keys(DOORS))('%s is an address that a mail server and DNS could take', async (door) => {
  const send = DOORS[door]
  const pointer = `/${door.split(' ')[0]}`

  const answers = [
    await send?.(`${'a'.repeat(65)}@example.com`),
    await send?.(`a@${'b'.repeat(64)}.example`),
    await send?.(`${'a'.repeat(64)}@${'b'.repeat(63)}.example`),
  ]

  expect(answers.map((answer) => [answer?.status, answer?.body.errors])).toEqual([
    [400, [{ pointer, detail: 'has 65 characters before the @; expected at most 64' }]],
    [400, [{ pointer, detail: 'has 64 characters between dots of its domain; expected at most 63' }]],
    [expect.toSatisfy((status: number) => status < 300), undefined],
  ])
})
