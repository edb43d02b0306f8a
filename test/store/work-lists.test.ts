/** Work lists: what is added while a list is settled stays on it, and a claim takes no more than it hands out. */

import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { insertMail, lockMailWork, settleMailWork, tenantsWithMail } from '../../service/channels/rows/mails.ts'
import { claimDue, type DueMark, markDue, settleDue, tenantsDue } from '../../store/due.ts'
import { insertNotifications, takeBackNotifications, waitingNotifications } from '../../store/notifications.ts'
import { claimShard, lookAtAll } from '../../store/shards.ts'
import { inPlatform, inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aStore, aTenant, aTenantOf } from '../setup/estate.ts'
import { overlapping } from '../setup/lock-waits.ts'
import { anAlert } from '../unit/channels/notifications.ts'

const store = await aStore()

const addNotification =
  (key: string, dueAt = store.now) =>
  (tx: TenantTx) =>
    insertNotifications(tx, [{ body: anAlert({ key }), dueAt: new Date(dueAt) }])
const sendAll = async (tx: TenantTx) => {
  const { rows } = await sql<{ id: number }>`select id from notifications where mail_id is null`.execute(tx.q)
  await insertMail(
    tx,
    { recipient: 'billing@meadow.example', kind: 'cause' },
    rows.map(({ id }) => id),
  )
  await sql`update deliveries set status = 'sent' where mail_id is not null`.execute(tx.q)
}
const withMail = () => inPlatform(store, (tx) => tenantsWithMail(tx, 100))

describe('settleMailWork', () => {
  test.each([
    ['before it settles', 'added first'],
    ['while it settles', 'settled first'],
  ])('keeps the tenant of a notification added %s', async (_when, order) => {
    const { tenantId, asTenant } = await aTenantOf(store)
    await asTenant(addNotification('first'))
    await asTenant(sendAll)
    const settle = () => asTenant(settleMailWork)
    const second = addNotification('second')

    await (order === 'added first'
      ? overlapping(store, tenantId, second, settle)
      : overlapping(store, tenantId, settleMailWork, () => asTenant(second)))

    expect(await withMail()).toContain(tenantId)
  })

  test('keeps the due time of an earlier notification', async () => {
    const { tenantId, asTenant } = await aTenantOf(store)
    await asTenant(addNotification('later', store.now + 60_000))

    await overlapping(store, tenantId, addNotification('now'), () => asTenant(settleMailWork))

    expect(await withMail()).toContain(tenantId)
  })

  test('removes a tenant without anything to send', async () => {
    const { tenantId, asTenant } = await aTenantOf(store)
    await asTenant(addNotification('only'))
    await asTenant(sendAll)

    await asTenant(settleMailWork)

    expect(await withMail()).not.toContain(tenantId)
  })
})

describe('settleDue', () => {
  test.each([
    ['for good', null],
    ['until its next look', 3_600_000],
  ])('keeps a subject due that is marked while settled %s', async (_how, nextInMs) => {
    const { tenantId, asTenant } = await aTenantOf(store)
    const subject = { kind: 'sim' as const, id: 7 }
    const again = (tx: TenantTx) => markDue(tx, [subject])
    await asTenant(again)
    const marks = await asTenant((tx) => claimDue(tx, 10, new Date(store.now + 60_000)))
    const nextAt = nextInMs === null ? null : store.now + nextInMs
    const settled = marks.map((mark: DueMark) => ({ ...mark, nextAt }))

    await overlapping(store, tenantId, again, () => asTenant((tx) => settleDue(tx, settled)))

    expect(await inPlatform(store, tenantsDue)).toContain(tenantId)
  })
})

describe('waitingNotifications', () => {
  test('leaves out what another transaction takes back, and waits for nobody', async () => {
    const { tenantId, asTenant } = await aTenantOf(store)
    await asTenant(addNotification('ended'))
    await asTenant(addNotification('other'))
    const taken: string[] = []
    const putIntoMail = () =>
      asTenant(async (tx) => {
        await lockMailWork(tx)
        const waiting = await waitingNotifications(tx, 10)
        taken.push(...waiting.map(({ body }) => body.key))
        const ids = waiting.map(({ id }) => id)
        await insertMail(tx, { recipient: 'billing@meadow.example', kind: 'cause' }, ids)
      })

    await overlapping(
      store,
      tenantId,
      async (tx) => {
        await takeBackNotifications(tx, ['ended'])
        await insertNotifications(tx, [{ body: anAlert({ key: 'next' }), dueAt: new Date(store.now) }])
      },
      putIntoMail,
    )

    expect(taken).toEqual(['other'])
    expect(await withMail()).toContain(tenantId)
  })
})

describe('claimShard', () => {
  test('claims one shard of a tenant whom the planner’s statistics do not know', async () => {
    for (let n = 0; n < 30; n += 1) await inTenant(store, await aTenant(store), lookAtAll)
    await sql`analyze watch_shards`.execute(store.db)
    const { asTenant, rows } = await aTenantOf(store)
    await asTenant(lookAtAll)

    await asTenant((tx) => claimShard(tx, new Date(store.now + 60_000)))

    const shards = await rows(sql<{ kind: number; at: Date }>`
      select subject_kind as kind, next_at as at from watch_shards order by 1`)
    expect(shards.filter(({ at }) => at.getTime() <= store.now).map(({ kind }) => kind)).toEqual([2, 3, 4])
  })
})
