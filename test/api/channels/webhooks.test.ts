import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const url = 'https://ops.meadow.example/simherd'
const inside = (method: string, path: string, body?: unknown) =>
  harness.tenant.inside(method, `/internal/webhooks${path}`, body)

describe('/internal/webhooks', () => {
  test('shows a secret once, when it is made and when it is rotated', async () => {
    const { status, body } = await inside('POST', '', { url, events: ['alert.fired', 'alert.resolved'] })
    const rotated = await inside('POST', `/${body.id}/rotate`)
    const listed = await inside('GET', '')

    expect([status, rotated.status]).toEqual([201, 201])
    expect([body.secret, rotated.body.secret]).toEqual([
      expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    ])
    expect(rotated.body.secret).not.toBe(body.secret)
    expect(JSON.stringify(listed.body)).not.toContain('whsec_')
    expect(listed.body.data).toMatchObject([
      {
        id: body.id,
        url,
        description: '',
        events: ['alert.fired', 'alert.resolved'],
        createdBy: expect.stringMatching(/^key:/),
        createdByName: 'tests',
        previousSecretUntil: '2026-11-21T12:00:00.000Z',
        failures: 0,
        disabledAt: null,
      },
    ])
  })

  test('keeps no secret in the audit trail, nor in kept answers', async () => {
    const answer = await harness.tenant.inside('POST', '/internal/webhooks', { url }, { 'idempotency-key': 'one' })
    const { rows } = await sql<{ line: string }>`
      select to_jsonb(a)::text as line from audit_log a
       union all select to_jsonb(k)::text from idempotency_keys k`.execute(harness.root)

    expect(answer.status).toBe(201)
    expect(rows.length).toBeGreaterThan(1)
    expect(rows.map(({ line }) => line).join('\n')).not.toContain(answer.body.secret.slice(6))
  })

  test('lists what became of a test, which can be replayed', async () => {
    const { id } = (await inside('POST', '', { url })).body
    const sent = await inside('POST', `/${id}/test`)
    const replayed = await inside('POST', `/${id}/deliveries/${sent.body.id}/replay`)
    const { body } = await inside('GET', `/${id}/deliveries?status=pending`)

    expect(replayed.body).toEqual({ id: sent.body.id })
    expect(body.data).toEqual([
      {
        id: sent.body.id,
        eventId: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
        type: 'webhook.test',
        status: 'pending',
        attempts: 0,
        createdAt: '2026-11-20T12:00:00.000Z',
        nextAttemptAt: '2026-11-20T12:00:00.000Z',
        endedAt: null,
        answer: null,
        response: null,
      },
    ])
    expect(harness.jobs).toContainEqual({ queue: 'webhooks', tenantId: harness.tenant.id, webhookId: id })
  })

  test.each([
    ['a URL that is not https', { url: 'http://a.example' }, '/url', 'got http://a.example, expected a URL such as'],
    ['a private address', { url: 'https://10.0.0.1/' }, '/url', 'WEBHOOK_ALLOW'],
    ['a line break in the URL', { url: 'https://ops.meadow.example/\n' }, '/url', 'the character U+000A'],
    ['an unknown type of event', { url, events: ['alert.fried'] }, '/events/0', 'alert.fired'],
    ['no type of event', { url, events: [] }, '/events', '1'],
  ])('refuses %s', async (_what, ask, pointer, detail) => {
    const { status, body } = await inside('POST', '', ask)

    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.errors).toEqual([{ pointer, detail: expect.stringContaining(detail) }])
  })

  test('disables, enables and removes, each of which may come twice but the last', async () => {
    const { id } = (await inside('POST', '', { url })).body
    const disabled = [await inside('POST', `/${id}/disable`), await inside('POST', `/${id}/disable`)]
    const refused = await inside('POST', `/${id}/test`)
    const enabled = [await inside('POST', `/${id}/enable`), await inside('POST', `/${id}/enable`)]
    const removed = [await inside('DELETE', `/${id}`), await inside('DELETE', `/${id}`)]

    expect([...disabled, ...enabled].map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect([refused.status, refused.body.code]).toEqual([409, 'webhook_disabled'])
    expect(removed.map(({ status }) => status)).toEqual([200, 404])
    expect((await inside('GET', `/${id}/deliveries`)).body.code).toBe('webhook_not_found')
  })
})
