/** Service document, sections 4.6, 2.7 and 8. */
import { expect, onTestFinished, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render.ts'
import { createTransport } from '../../../adapters/channels/mail/transport.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { startInbox } from '../../../stack/inbox/inbox.ts'
import type { Mail } from '../../../stack/inbox/mails.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import { asking, useHarness } from '../harness.ts'
import { expectShape, TENANT } from './shape.ts'

const harness = useHarness()
const get = async () => (await harness.tenant.ask('GET', '/api/tenant')).body

test('4.6 GET /api/tenant + 2.7 Tenant: has exactly its fields', async () => {
  const { status, body } = await harness.other.ask('GET', '/api/tenant')

  expect(status).toBe(200)
  expectShape(body, TENANT)
  expect(body).toEqual({ id: harness.other.id, name: 'Theirs', billingEmail: 'billing@example.com' })
})

test.each(['ab', 'x'.repeat(100), 'é💧', '  '])(
  '4.6 PATCH /api/tenant/name + 8 Tenant name: accepts the name %j',
  async (name) => {
    const was = await get()

    const answer = await harness.tenant.ask('PATCH', '/api/tenant/name', { name })

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id: harness.tenant.id })
    expect(await get()).toEqual({ ...was, name })
  },
)

test.each([
  ['a', '/name'],
  ['', '/name'],
  ['💧', '/name'],
  ['x'.repeat(101), '/name'],
  [null, '/name'],
  [undefined, '/name'],
])('4.6 PATCH /api/tenant/name + 8 Tenant name: refuses %j, naming %s', async (name, pointer) => {
  const was = await get()

  const answer = await harness.tenant.ask('PATCH', '/api/tenant/name', { name })

  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
  expect(await get()).toEqual(was)
})

test.each(['a@b.example', 'first.last+tag@sub.example.com', `o'neil@example.com`, `${'x'.repeat(64)}@example.com`])(
  '4.6 PATCH /api/tenant/billing-email + 8 Billing email: accepts the address %s',
  async (billingEmail) => {
    const was = await get()

    const answer = await harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail })

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id: harness.tenant.id })
    expect(await get()).toEqual({ ...was, billingEmail })
  },
)

test('4.6 PATCH /api/tenant/billing-email: sends the next mail to the new address', async () => {
  const inbox = await startInbox({ dir: await temporaryFolder() })
  const from = 'Simherd <simherd@meadow.example>'
  const transport = createTransport({ smtpUrl: inbox.smtpUrl, from, timeoutMs: 30_000 })
  onTestFinished(async () => {
    transport.close()
    await inbox.stop()
  })
  const notify = async (key: string) => {
    const notification = {
      dedupeKey: key,
      level: LogLevel.Critical,
      body: anAlert({ key }),
      dueAt: new Date(harness.now),
    }
    await inTenant(harness.store, harness.tenant.id, (tx) => insertNotifications(tx, [notification]))
    await sendMails(
      harness.store,
      { render: (told, isCopy) => renderMail(told, null, isCopy), transport },
      { retryMaxMs: 1000, giveUpAfterMs: 1000 },
      harness.tenant.id,
    )
  }

  for (const billingEmail of ['old@meadow.example', 'new@meadow.example']) {
    await harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail })
    await notify(billingEmail)
  }

  const mails = await (await fetch(inbox.inboxUrl, { headers: { accept: 'application/json' } })).json()
  const reached = (mails as Mail[]).map(({ to }) => to)
  // Until the new address is confirmed, the last one that was gets each mail too (decision 48).
  const confirmed = 'billing@example.com'
  expect(reached.toSorted()).toEqual([confirmed, confirmed, 'new@meadow.example', 'old@meadow.example'])
})

test.each([
  'nobody',
  '@example.com',
  'a@',
  'a b@example.com',
  'a@b@example.com',
  'a@example.com\r\nBcc: all@example.com',
  'Name <a@example.com>',
  'a@example.com, b@example.com',
  `a@${'x'.repeat(260)}.example`,
  '',
  null,
  undefined,
])('4.6 PATCH /api/tenant/billing-email + 8 Billing email: refuses the address %j', async (billingEmail) => {
  const was = await get()

  const answer = await harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail })

  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', errors: [{ pointer: '/billingEmail' }] },
  })
  expect(await get()).toEqual(was)
})

test('4.6 PATCH /api/tenant/name + 4.6 PATCH /api/tenant/billing-email: is forbidden to a write key', async () => {
  const made = await harness.other.inside('POST', '/internal/keys', { name: 'k', scopes: ['write'] })
  const writer = asking(harness.outside, { authorization: `Bearer ${made.body.key}` })

  const answers = [
    await writer('PATCH', '/api/tenant/name', { name: 'Written' }),
    await writer('PATCH', '/api/tenant/billing-email', { billingEmail: 'written@example.com' }),
  ]

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(2).fill([403, 'forbidden']))
  expect((await harness.other.ask('GET', '/api/tenant')).body).toMatchObject({
    name: 'Theirs',
    billingEmail: 'billing@example.com',
  })
})
