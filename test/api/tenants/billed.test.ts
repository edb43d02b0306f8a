/** What a tenant is billed by, as the tenant and the operator read it. */
import { expect, test } from 'vitest'
import { asking, useHarness } from '../harness.ts'

const harness = useHarness()

test('a tenant reads its billing cycle and its currency', async () => {
  const words = { name: 'Alpine', billingEmail: 'bills@alpine.example', billingCycle: 'P7D', currency: 'CHF' }
  const { id, key } = (await harness.operate('POST', '/internal/tenants', words)).body
  const own = asking(harness.inside, { authorization: `Bearer ${key}` })
  const operator = asking(harness.inside, { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': id })

  for (const ask of [own, operator])
    expect(await ask('GET', '/internal/tenant')).toMatchObject({ status: 200, body: { id, ...words } })
  expect((await own('GET', '/internal/tenants')).status).toBe(403)
})
