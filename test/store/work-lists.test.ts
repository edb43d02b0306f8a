/** What is put on a work list while it is being settled stays on it. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { LogLevel } from '../../domain/codes.ts'
import { claimDue, type DueMark, markDue, SubjectKind, settleDue, tenantsDue } from '../../store/due.ts'
import { insertMail, insertNotifications, settleMailWork, tenantsWithMail } from '../../store/mail/mails.ts'
import { inPlatform, inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aGround, aTenant } from '../setup/estate.ts'
import { overlapping } from '../setup/lock-waits.ts'
import { anAlert } from '../unit/notify/notifications.ts'

const ground = await aGround()

const tell =
  (key: string, dueAt = ground.now) =>
  (tx: TenantTx) =>
    insertNotifications(tx, [
      { dedupeKey: key, level: LogLevel.Critical, body: anAlert({ key }), dueAt: new Date(dueAt) },
    ])
const sendAll = async (tx: TenantTx) => {
  const { rows } = await sql<{ id: number }>`select id from notifications where mail_id is null`.execute(tx.q)
  await insertMail(
    tx,
    { recipient: 'billing@meadow.example', grouped: false },
    rows.map(({ id }) => id),
  )
  await sql`update mails set status = 'sent'`.execute(tx.q)
}
const withMail = () => inPlatform(ground, (tx) => tenantsWithMail(tx, 100))

test.each([
  ['before the work list is settled', 'told first'],
  ['while the work list is settled', 'settled first'],
])('a notice that is told %s keeps its tenant on the list', async (_when, order) => {
  const tenantId = await aTenant(ground)
  await inTenant(ground, tenantId, tell('first'))
  await inTenant(ground, tenantId, sendAll)
  const settle = () => inTenant(ground, tenantId, settleMailWork)
  const second = tell('second')

  await (order === 'told first'
    ? overlapping(ground, tenantId, second, settle)
    : overlapping(ground, tenantId, settleMailWork, () => inTenant(ground, tenantId, second)))

  expect(await withMail()).toContain(tenantId)
})

test('a notice that is due earlier than what waits is not put off by settling', async () => {
  const tenantId = await aTenant(ground)
  await inTenant(ground, tenantId, tell('later', ground.now + 60_000))

  await overlapping(ground, tenantId, tell('now'), () => inTenant(ground, tenantId, settleMailWork))

  expect(await withMail()).toContain(tenantId)
})

test('a tenant without anything to send leaves the list', async () => {
  const tenantId = await aTenant(ground)
  await inTenant(ground, tenantId, tell('only'))
  await inTenant(ground, tenantId, sendAll)

  await inTenant(ground, tenantId, settleMailWork)

  expect(await withMail()).not.toContain(tenantId)
})

test.each([
  ['for good', null],
  ['until its next look', 3_600_000],
])('a subject that changes while it is taken off the list %s is still due', async (_how, nextInMs) => {
  const tenantId = await aTenant(ground)
  const subject = { kind: SubjectKind.sim, id: 7 }
  const again = (tx: TenantTx) => markDue(tx, [subject])
  await inTenant(ground, tenantId, again)
  const marks = await inTenant(ground, tenantId, (tx) => claimDue(tx, 10, new Date(ground.now + 60_000)))
  const nextAt = nextInMs === null ? null : ground.now + nextInMs
  const settled = marks.map((mark: DueMark) => ({ ...mark, nextAt }))

  await overlapping(ground, tenantId, again, () => inTenant(ground, tenantId, (tx) => settleDue(tx, settled)))

  expect(await inPlatform(ground, tenantsDue)).toContain(tenantId)
})
