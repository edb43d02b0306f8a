/** What is put on a work list while it is being settled stays on it. */

import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { LogLevel } from '../../domain/codes.ts'
import { SUBJECT_CODES } from '../../domain/watchdog/subject.ts'
import { claimDue, type DueMark, markDue, settleDue, tenantsDue } from '../../store/due.ts'
import { insertMail, insertNotifications, settleMailWork, tenantsWithMail } from '../../store/mail/mails.ts'
import { inPlatform, inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aStore, aTenant } from '../setup/estate.ts'
import { overlapping } from '../setup/lock-waits.ts'
import { anAlert } from '../unit/notify/notifications.ts'

const store = await aStore()

const tell =
  (key: string, dueAt = store.now) =>
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
const withMail = () => inPlatform(store, (tx) => tenantsWithMail(tx, 100))

test.each([
  ['before the work list is settled', 'told first'],
  ['while the work list is settled', 'settled first'],
])('a notice that is told %s keeps its tenant on the list', async (_when, order) => {
  const tenantId = await aTenant(store)
  await inTenant(store, tenantId, tell('first'))
  await inTenant(store, tenantId, sendAll)
  const settle = () => inTenant(store, tenantId, settleMailWork)
  const second = tell('second')

  await (order === 'told first'
    ? overlapping(store, tenantId, second, settle)
    : overlapping(store, tenantId, settleMailWork, () => inTenant(store, tenantId, second)))

  expect(await withMail()).toContain(tenantId)
})

test('a notice that is due earlier than what waits is not put off by settling', async () => {
  const tenantId = await aTenant(store)
  await inTenant(store, tenantId, tell('later', store.now + 60_000))

  await overlapping(store, tenantId, tell('now'), () => inTenant(store, tenantId, settleMailWork))

  expect(await withMail()).toContain(tenantId)
})

test('a tenant without anything to send leaves the list', async () => {
  const tenantId = await aTenant(store)
  await inTenant(store, tenantId, tell('only'))
  await inTenant(store, tenantId, sendAll)

  await inTenant(store, tenantId, settleMailWork)

  expect(await withMail()).not.toContain(tenantId)
})

test.each([
  ['for good', null],
  ['until its next look', 3_600_000],
])('a subject that changes while it is taken off the list %s is still due', async (_how, nextInMs) => {
  const tenantId = await aTenant(store)
  const subject = { kind: SUBJECT_CODES.sim, id: 7 }
  const again = (tx: TenantTx) => markDue(tx, [subject])
  await inTenant(store, tenantId, again)
  const marks = await inTenant(store, tenantId, (tx) => claimDue(tx, 10, new Date(store.now + 60_000)))
  const nextAt = nextInMs === null ? null : store.now + nextInMs
  const settled = marks.map((mark: DueMark) => ({ ...mark, nextAt }))

  await overlapping(store, tenantId, again, () => inTenant(store, tenantId, (tx) => settleDue(tx, settled)))

  expect(await inPlatform(store, tenantsDue)).toContain(tenantId)
})
