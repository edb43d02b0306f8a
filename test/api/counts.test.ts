import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { insertNotifications } from '../../store/notifications.ts'
import { inTenant } from '../../store/tenancy.ts'
import { lockWaiters } from '../setup/lock-waits.ts'
import { soon } from '../setup/soon.ts'
import { aWarning } from '../unit/channels/notifications.ts'
import { useHarness } from './harness.ts'

const harness = useHarness()

test('GET /internal/counts misses no notification while a mail takes it', async () => {
  const { id: tenantId } = harness.tenant
  await inTenant(harness.store, tenantId, (tx) =>
    insertNotifications(tx, [{ body: aWarning({ key: 'waiting/1' }), dueAt: tx.now }]),
  )

  const counting = await harness.root.transaction().execute(async (sender) => {
    await sql`lock table notifications in access exclusive mode`.execute(sender)
    const counts = harness.tenant.inside('GET', '/internal/counts')
    await soon(async () => expect(await lockWaiters(harness.store)).toBe(1))
    await sql`
      insert into deliveries (tenant_id, mail_id, recipient, kind, next_attempt_at, created_at)
      values (${tenantId}, '<1@simherd>', 'billing@meadow.example', 'grouped', now(), now())`.execute(sender)
    await sql`update notifications set mail_id = '<1@simherd>' where tenant_id = ${tenantId}`.execute(sender)
    return { counts }
  })

  const { due, mailsByStatus } = (await counting.counts).body
  expect(due.notices + (mailsByStatus.pending ?? 0)).toBeGreaterThan(0)
})
