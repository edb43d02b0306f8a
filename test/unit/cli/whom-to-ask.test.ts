import { expect, test } from 'vitest'
import { serviceOf } from '../../../cli/service-address.ts'
import { tenantOf } from '../../../cli/workflows/ask.ts'
import { readSettings } from '../../../process/settings.ts'

test.each([
  ['suspend-on-overage:t0123456789ab:7:2026-11', 't0123456789ab'],
  ['month-end-timer:t0123456789ab', 't0123456789ab'],
  ['month-end-timer:t0123456789ab-2026-12-01T00:00:00Z', 't0123456789ab'],
])('tenantOf reads the tenant from %s', (workflowId, tenantId) => {
  expect(tenantOf(workflowId, undefined)).toBe(tenantId)
  expect(tenantOf(workflowId, 'another')).toBe('another')
})

test('serviceOf fails if an address has no key', async () => {
  const settings = { ...readSettings(), SERVICE_INTERNAL_URL: 'https://prod.example:8081', SERVICE_KEY: '' }

  await expect(serviceOf(settings)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/^SERVICE_INTERNAL_URL is https:\/\/prod.example:8081, but SERVICE_KEY is not set/),
  })
})
