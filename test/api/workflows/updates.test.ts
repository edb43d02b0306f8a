import { expect, test } from 'vitest'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()

test.each([
  ['an invalid duration', 'extendGrace', { by: 'an hour' }, '/by'],
  ['an invalid instant', 'extendGrace', { until: 'Tuesday' }, '/until'],
  ['an unknown word', 'keepSuspended', { until: 'Tuesday' }, '/until'],
  ['an unknown field', 'resume', { now: true }, '/now'],
  ['neither of two fields', 'extendGrace', {}, ''],
  ['both of two fields', 'extendGrace', { by: 'PT1H', until: '2026-12-01T00:00:00Z' }, ''],
])('an update with %s is refused without asking Temporal', async (_, name, body, pointer) => {
  const path = `/internal/workflows/${suspendOnOverageId(harness.tenant.id, 1, '2026-11')}/updates/${name}`
  const answer = await harness.tenant.inside('POST', path, body)

  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
})
