import { expect, test } from 'vitest'
import { ticketIdOfStep } from '../../../domain/tickets/ticket-id-of-step.ts'

test.each([
  ['acme', 'suspend-on-overage:acme:1:c1/run/suspend/1', '198e387d-9015-5a54-ba6b-f321958afa7b'],
  ['tf622080bc0a0', 'undo-suspensions:tf622080bc0a0:überlauf:1/r/activate/7', '22518e94-956e-560f-96e3-63ace05088d8'],
])('ticketIdOfStep makes the standard UUIDv5 of %s %s', (tenantId, key, id) => {
  expect(ticketIdOfStep(tenantId, key)).toBe(id)
})
