import { expect, test } from 'vitest'
import {
  addAddress,
  clearAddress,
  confirmAddress,
  listAddresses,
  removeAddress,
} from '../../../cli/commands/addresses.ts'
import { markBad } from '../../../service/channels/rows/addresses.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
const ours = () => ({ tenant: harness.tenant.id })

test('lists, adds, confirms, clears and removes addresses', async () => {
  await listAddresses(command.settings, ours())
  await harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail: 'new@example.com' })
  await addAddress(command.settings, 'field@example.com', { ...ours(), level: 'Critical', rules: 'sim-*' })
  await addAddress(command.settings, 'night@example.com', { ...ours(), escalation: true })
  await inTenant(harness.store, harness.tenant.id, (tx) => markBad(tx, 'field@example.com'))
  await listAddresses(command.settings, ours())
  const numberOf = (email: string) => Number(new RegExp(`(\\d+) +\\w+ +${email}`).exec(lines.join('\n'))?.[1])
  const [changed, field, night] = ['new@example.com', 'field@example.com', 'night@example.com'].map(numberOf)
  const before = lines.join('\n')
  lines.length = 0
  await confirmAddress(command.settings, changed ?? 0, ours())
  await clearAddress(command.settings, field ?? 0, ours())
  await removeAddress(command.settings, night ?? 0, ours())
  await listAddresses(command.settings, ours())

  expect(before).toMatch(/billing +billing@example\.com +all +all +in use/)
  expect(before).toMatch(/billing +new@example\.com +all +all +not confirmed/)
  expect(before).toMatch(/copy +field@example\.com +Critical at least +sim-\* +bad since 2026-11-20/)
  expect(lines.join('\n')).toMatch(/new@example\.com +all +all +in use/)
  expect(lines.join('\n')).toMatch(/field@example\.com .* in use/)
  expect(lines.join('\n')).not.toMatch(/billing@example\.com|night@example\.com/)
  await expect(removeAddress(command.settings, changed ?? 0, ours())).rejects.toMatchObject({ exitCode: 4 })
})
