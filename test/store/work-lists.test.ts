/** Work lists: what is added while a list is settled stays on it, and a claim takes no more than it hands out. */

import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { insertMail, lockMailWork, settleMailWork, tenantsWithMail } from '../../service/channels/rows/mails.ts'
import { claimDue, type DueMark, markDue, settleDue, tenantsDue } from '../../store/due.ts'
import { insertNotifications, takeBackNotifications, waitingNotifications } from '../../store/notifications.ts'
import { claimShard, lookAtAll } from '../../store/shards.ts'
import { inPlatform, inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aStore, aTenant } from '../setup/estate.ts'
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
    const tenantId = await aTenant(store)
    await inTenant(store, tenantId, addNotification('first'))
    await inTenant(store, tenantId, sendAll)
    const settle = () => inTenant(store, tenantId, settleMailWork)
    const second = addNotification('second')

    await (order === 'added first'
      ? overlapping(store, tenantId, second, settle)
      : overlapping(store, tenantId, settleMailWork, () => inTenant(store, tenantId, second)))

    expect(await withMail()).toContain(tenantId)
  })

  test('keeps the due time of an earlier notification', async () => {
    const tenantId = await aTenant(store)
    await inTenant(store, tenantId, addNotification('later', store.now + 60_000))

    await overlapping(store, tenantId, addNotification('now'), () => inTenant(store, tenantId, settleMailWork))

    expect(await withMail()).toContain(tenantId)
  })

  test('removes a tenant without anything to send', async () => {
    const tenantId = await aTenant(store)
    await inTenant(store, tenantId, addNotification('only'))
    await inTenant(store, tenantId, sendAll)

    await inTenant(store, tenantId, settleMailWork)

    expect(await withMail()).not.toContain(tenantId)
  })
})

describe('settleDue', () => {
  test.each([
    ['for good', null],
    ['until its next look', 3_600_000],
  ])('keeps a subject due that is marked while settled %s', async (_how, nextInMs) => {
    const tenantId = await aTenant(store)
    const subject = { kind: 'sim' as const, id: 7 }
    const again = (tx: TenantTx) => markDue(tx, [subject])
    await inTenant(store, tenantId, again)
    const marks = await inTenant(store, tenantId, (tx) => claimDue(tx, 10, new Date(store.now + 60_000)))
    const nextAt = nextInMs === null ? null : store.now + nextInMs
    const settled = marks.map((mark: DueMark) => ({ ...mark, nextAt }))

    await overlapping(store, tenantId, again, () => inTenant(store, tenantId, (tx) => settleDue(tx, settled)))

    expect(await inPlatform(store, tenantsDue)).toContain(tenantId)
  })
})

describe('waitingNotifications', () => {
  test('leaves out what another transaction takes back, and waits for nobody', async () => {
    const tenantId = await aTenant(store)
    await inTenant(store, tenantId, addNotification('ended'))
    await inTenant(store, tenantId, addNotification('other'))
    const taken: string[] = []
    const putIntoMail = () =>
      inTenant(store, tenantId, async (tx) => {
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
    const tenantId = await aTenant(store)
    await inTenant(store, tenantId, lookAtAll)

    await inTenant(store, tenantId, (tx) => claimShard(tx, new Date(store.now + 60_000)))

    const { rows } = await inTenant(store, tenantId, ({ q }) =>
      sql<{ kind: number; at: Date }>`select subject_kind as kind, next_at as at from watch_shards order by 1`.execute(
        q,
      ),
    )
    expect(rows.filter(({ at }) => at.getTime() <= store.now).map(({ kind }) => kind)).toEqual([2, 3])
  })
})
