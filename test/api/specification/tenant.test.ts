/** Service document, sections 4.6, 2.7 and 8. */
import { expect, test } from 'vitest'
import { useHarness } from '../harness.ts'
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
