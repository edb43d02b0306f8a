import { expect, test } from 'vitest'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()

test.each([
  ['a duration that is none', 'extendGrace', { by: 'an hour' }, '/by'],
  ['an instant that is none', 'extendGrace', { until: 'Tuesday' }, '/until'],
  ['a word it does not know', 'keepSuspended', { until: 'Tuesday' }, '/until'],
  ['a field it does not know', 'resume', { now: true }, '/now'],
])('an update with %s is refused, and names the field, before Temporal is asked', async (_, name, body, pointer) => {
  const id = suspendOnOverageId(harness.tenant.id, 1, '2026-11')

  expect(await harness.tenant.inside('POST', `/internal/workflows/${id}/updates/${name}`, body)).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', errors: [{ pointer }] },
  })
})
