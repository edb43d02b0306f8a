/** Every request that takes an e-mail address refuses one that no mail server or no DNS could take. */
import { expect, test } from 'vitest'
import { useHarness } from '../harness.ts'

const harness = useHarness()

const DOORS: Readonly<Record<string, (email: string) => ReturnType<typeof harness.operate>>> = {
  billingEmail: (billingEmail) => harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail }),
  'billingEmail of a new tenant': (billingEmail) =>
    harness.operate('POST', '/internal/tenants', { name: 'Meadow', billingEmail }),
  'email of a copy': (email) => harness.tenant.inside('POST', '/internal/addresses', { kind: 'copy', email }),
  'email of an escalation': (email) =>
    harness.tenant.inside('POST', '/internal/addresses', { kind: 'escalation', email }),
}

test.each(Object.keys(DOORS))('%s', async (door) => {
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
