/** Which notifications share a mail, and when it leaves. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType } from '../../../domain/codes.ts'
import type { ActionRequest } from '../../../domain/enforcement/enforcement.ts'
import type { AlertNotification } from '../../../domain/notifications/notification.ts'
import { addSilence } from '../../../service/alerts/silence-alerts.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { aStore } from '../../setup/estate.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import { asShipped, only } from '../watchdog/alert-world.ts'
import { aPost, type Post, SECOND } from './post.ts'

const store = await aStore()
await activateRules(store, only({ 'pool-overage': asShipped, 'sim-overage': asShipped }), 'the tests')
const FOR_NEXT = 30 * SECOND

let keys = 0
/** A SIM over its limit in a pool. */
const over = (id: number, poolName: string, also: Partial<AlertNotification> = {}): AlertNotification =>
  anAlert({
    key: `over/${keys++}`,
    at: new Date(store.now).toISOString(),
    rule: { name: 'sim-overage', file: 'sim/sim-overage.json', version: 1 },
    subject: { kind: 'sim', id, label: `meter-${id}` },
    poolName,
    message: `SIM meter-${id} is ${id} MB over its limit.`,
    facts: { usageMB: 100 + id, limitMB: 100, usagePct: 100 + id, overageMB: id },
    ...also,
  })
/** A pool over its capacity. */
const poolOver = (id: number): AlertNotification =>
  anAlert({ key: `pool/${keys++}`, subject: { kind: 'pool', id, label: `pool-${id}` } })

/** Notifies as an evaluation does: each waits for the next of its cause. */
const find = (post: Post, ...bodies: AlertNotification[]) =>
  post.asTenant((tx) =>
    insertNotifications(
      tx,
      bodies.map((body) => ({ body, dueAt: new Date(store.now + FOR_NEXT) })),
    ),
  )
const kindsOf = sql<{ kind: string }>`select kind from deliveries order by created_at`
const labelsOf = sql<{ iccid: string }>`select iccid from sims order by id`
const subjects = async (post: Post) => (await post.arrived()).map(({ subject }) => subject)

describe('a cause', () => {
  test('has one mail for its SIMs of all pools', async () => {
    const post = await aPost(store)
    for (let n = 0; n < 96; n += 1) await find(post, over(n + 1, 'North'))
    await find(post, ...Array.from({ length: 84 }, (_, n) => over(n + 101, 'South')))
    await post.pass(60)

    const [mail, second] = await post.arrived()
    expect(second).toBeUndefined()
    expect(mail?.subject).toContain('180 SIMs over their limit')
    expect(mail?.text.split('\n')[1]).toContain('North 96, South 84; noticed 2026-11-')
    expect(mail?.text.match(/^- meter-/gm)).toHaveLength(100)
    expect(mail?.text).toContain('and 80 more: notices.csv, attached, has them all')
    const rows = (await post.statement(mail)).replace('\uFEFF', '').trim().split(/\r?\n/)
    expect(rows).toHaveLength(181)
    expect(rows[1]).toMatch(/,sim-overage,fired,Critical,sim,1,meter-1,North,101,100,1,/)
  })

  test('of a short cycle waits for a sixtieth of it', async () => {
    const post = await aPost(store, {}, 'PT5M')
    const poolId = await post.aPool(TariffType.Standard, 100)
    const [simId = 0] = await post.activeSims(1, { poolId })
    await act(post, simId, 'suspended')
    await post.pass(5)

    expect(await post.mails()).toHaveLength(1)
  })
})

describe('several causes', () => {
  test('share a mail from the third within ten minutes on', async () => {
    const post = await aPost(store)
    await find(post, poolOver(1), poolOver(2))
    await post.pass(60)
    for (let n = 3; n < 7; n += 1) {
      await find(post, poolOver(n))
      await post.pass(30)
    }
    await post.pass(60)
    const joined = (await post.mails()).map((mail) => mail.keys.length)
    await post.pass(600)
    await find(post, poolOver(8), poolOver(9))
    await post.pass(60)

    expect(joined).toEqual([1, 1, 4])
    expect((await post.mails()).map((mail) => mail.keys.length)).toEqual([1, 1, 4, 1, 1])
  })

  test('go into digests beyond twenty mails an hour', async () => {
    const post = await aPost(store)
    // A storm: each minute another pool goes over its capacity.
    for (let minute = 0; minute < 120; minute += 1) {
      await find(post, poolOver(minute))
      await post.pass(60)
    }

    const kinds = await post.rows(kindsOf)
    expect(kinds.filter(({ kind }) => kind !== 'digest').length).toBeLessThanOrEqual(40)
    expect(kinds.some(({ kind }) => kind === 'digest')).toBe(true)
    const mails = await post.mails()
    await post.pass(1200)
    expect((await post.mails()).flatMap((mail) => mail.keys)).toHaveLength(120)
    expect(mails.length).toBeLessThanOrEqual(55)
  })
})

const act = (post: Post, simId: number, action: ActionRequest['action'], also: Partial<ActionRequest> = {}) =>
  post.asTenant((tx) =>
    logAction(tx, {
      simId,
      cycle: '2026-11',
      rule: 'pool-overage',
      action,
      counter: 0,
      detail: 'under its limit again',
      workflowId: 'w',
      ...also,
    }),
  )

describe('suspensions by a pool’s rule', () => {
  /** A Dynamic pool named North, of SIMs that have used more than their share. */
  async function aCutPool(count: number) {
    const post = await aPost(store)
    const poolId = await post.aPool(TariffType['Dynamic Pool'], 100_000_000, { name: 'North' })
    const sims = await post.activeSims(count, { poolId })
    await post.record(sims.map((simId, n) => post.usage(simId, { bytesUp: 100_000_000 + (n + 1) * 10_000_000 })))
    const cause = { by: 'watchdog', rule: 'pool-overage', cycle: '2026-11', until: 'renewal', workflowId: 'w' } as const
    for (const simId of sims) await post.complete({ simId, type: TicketType.Suspend, cause })
    return { ...post, poolId, sims }
  }

  test('are in one mail, which names every SIM and says when it comes back', async () => {
    const post = await aCutPool(3)
    const pool = { kind: 'pool', id: post.poolId, label: 'North' } as const
    await find(post, anAlert({ key: 'north', subject: pool, message: 'Pool North is 60 MB over its capacity.' }))
    await post.pass(10)
    for (const simId of post.sims) await act(post, simId, 'suspended')
    await post.pass(60)

    const [mail, second] = await post.arrived()
    expect(second).toBeUndefined()
    expect(mail?.subject).toContain('Pool North 12 MB over: 3 SIMs suspended')
    for (const { iccid } of await post.rows(labelsOf))
      expect(mail?.text).toMatch(new RegExp(`^- ${iccid}: 1[123]0 of 100 MB`, 'm'))
    expect(mail?.text).toContain('at the latest when the next billing cycle begins at 2026-12-01 00:00 UTC')
  })

  test('have a mail at their end too, but none of either if nobody was told', async () => {
    const post = await aCutPool(2)
    const [first = 0, second = 0] = post.sims
    await act(post, first, 'suspended')
    await post.pass(60)
    await act(post, second, 'suspended')
    await post.pass(10)
    for (const simId of [first, second]) await act(post, simId, 'broughtBack')
    await post.pass(60)

    const [cut, back, third] = await subjects(post)
    expect([cut, back]).toEqual([
      expect.stringContaining(' was suspended by rule '),
      expect.stringContaining(' is active again: '),
    ])
    expect(third).toBeUndefined()
  })

  test('are not mailed while a silence covers the pool', async () => {
    const post = await aCutPool(1)
    const silence = { poolId: post.poolId, lasts: 'PT1H', reason: 'A known fault' }
    await post.asTenant((tx) => addSilence(tx, silence))
    await act(post, post.sims[0] ?? 0, 'suspended')
    await post.pass(3000, 60)
    const during = await subjects(post)
    await post.pass(700)

    expect(during).toEqual([])
    expect(await subjects(post)).toEqual([expect.stringContaining(' was suspended by rule ')])
  })
})
