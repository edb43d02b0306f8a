import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel } from '../../../domain/codes.ts'
import { lockMailWork } from '../../../service/channels/rows/mails.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { overlapping } from '../../setup/lock-waits.ts'
import { aPost, BILLING, messageId, SECOND } from './post.ts'

const store = await aStore()

describe('notifications', () => {
  test('leave though they commit while the work list is settled', async () => {
    const post = await aPost(store)
    await post.sendOne()
    // Nothing waits, and the tenant is still on the list.
    await post.rows(sql`insert into mail_work (due_at) values (${new Date(store.now)}) returning 1`)
    // The row of the work list is locked as at the end of a transaction that notifies: what settles it waits.
    const adds = async (tx: TenantTx) => {
      await insertNotifications(tx, [post.notification(LogLevel.Critical, 0, 'meanwhile')])
      expect(await lockMailWork(tx)).toBe(true)
    }
    await overlapping(store, post.tenantId, adds, () => post.send())
    const kept = await post.hasWork()
    await post.send()

    expect(kept).toBe(true)
    const keys = (await post.mails()).flatMap((mail) => mail.keys)
    expect(keys.toSorted()).toEqual(['meanwhile', 'notice/0'])
    expect((await post.arrived()).some(({ text }) => text.includes('meanwhile'))).toBe(true)
    expect(await post.hasWork()).toBe(false)
  })

  test('go into exactly one mail under concurrent sends', async () => {
    const post = await aPost(store)
    const notifications = Array.from({ length: 12 }, (_, i) =>
      post.notification(i % 3 === 0 ? LogLevel.Critical : LogLevel.Warning, 0),
    )

    for (let begin = 0; begin < notifications.length; begin += 3) {
      await post.notify(...notifications.slice(begin, begin + 3))
      await Promise.all([post.send(), post.send(), post.notify(...notifications.slice(0, begin + 4)), post.send()])
    }
    store.now += 120 * SECOND
    await post.send()
    await post.send()

    const mails = await post.mails()
    const arrived = await post.arrived()
    expect(mails.flatMap(({ keys }) => keys).toSorted()).toEqual(notifications.map(({ body }) => body.key).toSorted())
    expect(arrived.map(messageId).toSorted()).toEqual(mails.map(({ id }) => id).toSorted())
    for (const { body } of notifications) {
      expect(arrived.filter(({ text }) => new RegExp(`${body.key}\\b`).test(text))).toHaveLength(1)
    }
    expect(mails.map(({ status }) => status)).toEqual(mails.map(() => 'sent'))
    expect(await post.hasWork()).toBe(false)
  })

  test('leave without the others if critical, else grouped when due', async () => {
    const post = await aPost(store)
    const [first, second, critical] = [
      post.notification(LogLevel.Warning, 60 * SECOND),
      post.notification(LogLevel.Info, 90 * SECOND),
      post.notification(),
    ]
    await post.notify(first, second, critical)

    await post.send()
    const atOnce = await post.mails()
    store.now += 59 * SECOND
    await post.send()
    const beforeDue = await post.mails()
    store.now += 1 * SECOND
    const found = await post.hasWork()
    await post.send()

    expect(atOnce.map(({ keys }) => keys)).toEqual([[critical.body.key]])
    expect(beforeDue).toHaveLength(1)
    expect(found).toBe(true)
    expect((await post.mails()).map(({ keys }) => keys)).toEqual([
      [critical.body.key],
      [first.body.key, second.body.key],
    ])
    expect((await post.arrived()).map(({ subject }) => subject)).toEqual([
      expect.stringContaining(critical.body.key),
      expect.stringMatching(/^1 SIM of rule /),
    ])
  })

  test('overtake a thousand others if critical', async () => {
    const post = await aPost(store)
    await post.notify(...Array.from({ length: 1001 }, () => post.notification(LogLevel.Warning, 3600 * SECOND)))
    const critical = post.notification()
    await post.notify(critical)

    await post.send()

    expect((await post.mails()).map(({ keys }) => keys)).toEqual([[critical.body.key]])
  })

  test('wait for a billing e-mail', async () => {
    const post = await aPost(store)
    await post.rows(sql`update tenants set billing_email = '' returning 1`)
    await post.notify(post.notification())

    await post.send()
    const kept = { mails: await post.mails(), found: await post.hasWork() }
    await post.rows(sql`update tenants set billing_email = ${BILLING} returning 1`)
    await post.send()

    expect(kept).toEqual({ mails: [], found: true })
    expect(await post.arrived()).toMatchObject([{ to: BILLING }])
  })
})
