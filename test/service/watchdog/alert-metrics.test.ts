/** The metrics of alerts, notices and mails, as a scrape reads them. */
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { createTransport } from '../../../adapters/channels/mail/transport.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { alertMetrics } from '../../../process/alert-metrics.ts'
import { createMetrics } from '../../../process/metrics.ts'
import { addAddress, changeBillingAddress, clearAddress } from '../../../service/channels/change-addresses.ts'
import { markBad } from '../../../service/channels/rows/addresses.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import type { TestStore } from '../../setup/estate.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { anAlert, aWarning } from '../../unit/channels/notifications.ts'
import { aMailbox } from '../channels/post.ts'
import { asShipped, aWorld, inStage, OVERAGE, only, type WorldOptions } from './alert-world.ts'
import { missFact } from './missing-fact.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** How far the clock of gauges is ahead. */
let aheadMs = 0
beforeEach(() => {
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
})
afterEach(() => vi.restoreAllMocks())

/** What a scrape reads, but for the process's own figures. */
function scraped(store: TestStore, rules: Parameters<typeof alertMetrics>[2]) {
  const metrics = createMetrics()
  const alerts = alertMetrics(metrics, store, rules)
  const lines = async () => {
    // Gauges that are collected within a second share one reading.
    aheadMs += 1001
    return (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => /^simherd_(?!http_)/.test(line) && !line.endsWith(' 0') && !/_(bucket|created)\b/.test(line))
  }
  return { ...alerts, lines }
}

async function aMeasuredWorld(options: Partial<WorldOptions> = {}) {
  const world = await aWorld({ rules: OVERAGE, ...options })
  const metrics = scraped(world.store, world.options.rules)
  Object.assign(world.options, { onDecided: metrics.onDecided })
  const of = async (name: string) => (await metrics.lines()).filter((line) => line.startsWith(name))
  return { ...world, ...metrics, of }
}

/** A mail server that answers as it is told, and what sends a tenant's mails to it. */
async function aPost({ counted, onAccepted, ...world }: Awaited<ReturnType<typeof aMeasuredWorld>>) {
  let answer: number | undefined
  const { transport } = await aMailbox({ refuse: () => answer })
  const nowhere = createTransport({ smtpUrl: 'smtp://127.0.0.1:1', from: 'simherd@example.com', timeoutMs: 30_000 })
  onTestFinished(() => nowhere.close())
  const [away, there] = [counted(nowhere), counted(transport)]
  return {
    refuse: (code: number | undefined) => {
      answer = code
    },
    send: async (isAway = false) => {
      const options = { retryMaxMs: MINUTE, giveUpAfterMs: HOUR, onAccepted }
      await sendMails(world.store, mailChannel(isAway ? away : there), options, world.tenantId)
    },
    notify: (key: string, level: LogLevel = LogLevel.Critical) =>
      world.asTenant((tx) => {
        const body = level === LogLevel.Critical ? anAlert({ key }) : aWarning({ key })
        return insertNotifications(tx, [{ body, dueAt: tx.now }])
      }),
  }
}

describe('metrics of what is decided', () => {
  test('count phases by rule, and notices by kind and reason', async () => {
    const world = await aMeasuredWorld({
      rules: only({ 'sim-overage': asShipped, 'sim-usage-warning': inStage('log') }),
      sims: 3,
    })
    const [first = 0, second = 0, third = 0] = world.sims
    await world.use(first, 101)
    await world.silence({ simId: second })
    await world.use(second, 101)
    await world.use(third, 85)
    // The first notice is still waiting: the alert's end takes it back.
    await world.use(first, -50)

    expect(await world.of('simherd_alerts_total')).toEqual([
      'simherd_alerts_total{rule="sim-overage",phase="firing"} 2',
      'simherd_alerts_total{rule="sim-usage-warning",phase="firing"} 3',
      'simherd_alerts_total{rule="sim-overage",phase="resolved"} 1',
      'simherd_alerts_total{rule="sim-usage-warning",phase="resolved"} 1',
    ])
    expect((await world.of('simherd_notices_total')).toSorted()).toEqual([
      'simherd_notices_total{kind="fired",reason="due"} 1',
      'simherd_notices_total{kind="fired",reason="silenced"} 1',
      'simherd_notices_total{kind="fired",reason="stage"} 3',
      'simherd_notices_total{kind="fired",reason="tookBack"} 1',
    ])
  })

  test('count subjects that a rule cannot decide on, once each', async () => {
    const world = await aMeasuredWorld({ sims: 2 })
    missFact(world.options, new Set(['sim-overage']))
    for (const sim of [...world.sims, ...world.sims]) await world.use(sim, 1)

    expect(await world.of('simherd_rule_errors')).toEqual(['simherd_rule_errors_total{rule="sim-overage"} 2'])
  })

  test('name no SIM, no address and no tenant', async () => {
    const world = await aMeasuredWorld()
    const post = await aPost(world)
    await world.use(world.sim, 101)
    await post.send()

    const text = (await world.lines()).join('\n')
    const [sim] = await world.rows(sql<{ iccid: string; pool: string }>`select iccid, 'meters' as pool from sims`)
    expect(text).toContain('rule="sim-overage"')
    for (const name of [sim?.iccid, world.tenantId, 'Meadow', 'meters', '@']) expect(text).not.toContain(name)
  })
})

describe('metrics of mails', () => {
  test('class the attempts, and say whether the server lets us send', async () => {
    const world = await aMeasuredWorld()
    const post = await aPost(world)
    const up = async () => (await world.of('simherd_smtp_up')).length === 1

    const atFirst = await up()
    await post.notify('one')
    await post.send(true)
    const whileAway = await up()
    for (const code of [451, 554, 550, undefined]) {
      world.store.now += 30 * MINUTE
      post.refuse(code)
      if (code !== 554) await post.notify(`answered ${code}`)
      await post.send()
    }

    expect([atFirst, whileAway, await up()]).toEqual([true, false, true])
    expect(
      (await world.of('simherd_mail_attempts_total')).map((line) => line.replace(/.*class=|[{}]/g, '')).toSorted(),
    ).toEqual(['"accepted" 1', '"address" 1', '"later" 2', '"mail" 2', '"ours" 1'])
  })

  test('tell how long accepted notices took, and how long the oldest waits', async () => {
    const world = await aMeasuredWorld()
    const post = await aPost(world)
    const oldest = async () => Number((await world.of('simherd_oldest_notice_seconds'))[0]?.split(' ')[1] ?? 0)

    const empty = await oldest()
    await post.notify('one')
    world.store.now += 40_000
    const inNoMail = await oldest()
    await post.send(true)
    world.store.now += 60_000
    const inAMail = await oldest()
    await post.notify('two', LogLevel.Warning)
    await post.send()
    const done = await oldest()
    await post.notify('three')
    world.store.now += 10_000
    await sql`update tenants set billing_email = ''`.execute(world.store.db)

    expect([empty, inNoMail, inAMail, done]).toEqual([0, 40, 60, 0])
    // Without an address it waits for one: that is no fault of the mail.
    expect(await oldest()).toBe(0)
    expect(await world.of('simherd_notice_delivery_seconds')).toEqual([
      'simherd_notice_delivery_seconds_sum{level="Critical"} 100',
      'simherd_notice_delivery_seconds_count{level="Critical"} 1',
      'simherd_notice_delivery_seconds_count{level="Warning"} 1',
    ])
  })

  test('count billing addresses that are marked bad, until they take a mail or are another', async () => {
    const world = await aMeasuredWorld()
    const post = await aPost(world)
    const refused = () => world.of('simherd_addresses_refused')
    const refuseTwice = async (key: string) => {
      post.refuse(550)
      await post.notify(key)
      await post.send()
      world.store.now += HOUR
      await post.send()
      post.refuse(undefined)
      world.store.now += MINUTE
    }

    await refuseTwice('one')
    const one = await refused()
    await post.notify('two')
    await post.send()
    const taken = await refused()
    await refuseTwice('three')
    const again = await refused()
    await world.asTenant((tx) => changeBillingAddress(tx, 'new@meadow.example'))

    expect([one, taken, again]).toEqual([['simherd_addresses_refused 1'], [], ['simherd_addresses_refused 1']])
    expect(await refused()).toEqual([])
  })
})

describe('gauges', () => {
  test('count each address that is marked bad once, of any kind, until it is cleared', async () => {
    const world = await aMeasuredWorld()
    const refused = () => world.of('simherd_addresses_refused')
    const email = 'field@meadow.example'
    const copy = await world.asTenant((tx) => addAddress(tx, { kind: 'copy', email }))
    const night = await world.asTenant((tx) => addAddress(tx, { kind: 'escalation', email }))
    const atFirst = await refused()

    await world.asTenant((tx) => markBad(tx, email))
    const one = await refused()
    await world.asTenant((tx) => markBad(tx, 'billing@meadow.example'))
    const two = await refused()
    for (const { id } of [copy, night]) await world.asTenant((tx) => clearAddress(tx, id))

    expect([atFirst, one, two]).toEqual([[], ['simherd_addresses_refused 1'], ['simherd_addresses_refused 2']])
    expect(await refused()).toEqual(['simherd_addresses_refused 1'])
  })

  test('tell of holds, rules and the stalest feed', async () => {
    const world = await aMeasuredWorld()
    const gauges = () => world.of('simherd_').then((lines) => lines.filter((line) => /holds|rules_|feed/.test(line)))
    const hold = (rule: string, state: string, endsAt: number) =>
      world.rows(sql`
        insert into guard_holds (rule, rule_version, cycle_key, cycle_ends_at, suspended, allowed, state, opened_at)
        values (${rule}, 1, '2026-11', ${new Date(endsAt)}, 0, 0, ${state}, ${new Date(world.store.now)})`)
    await world.use(world.sim, 1)
    world.store.now += 2 * HOUR
    await hold('open', 'held', world.store.now + HOUR)
    await hold('lapsed', 'held', world.store.now - HOUR)
    await hold('decided', 'released', world.store.now + HOUR)

    const well = await gauges()
    await putForeignRules(world.store.db, [{ file: 'a.json', text: '{}' }], new Date(world.store.now))

    expect(well).toEqual([
      'simherd_guard_holds_open 1',
      // Usage was received a minute before it was evaluated.
      'simherd_feed_age_seconds 7260',
      'simherd_rules_version 1',
    ])
    expect(await gauges()).toContain('simherd_rules_refused 1')
  })

  test('say nothing while the database is away', async () => {
    const world = await aMeasuredWorld()
    const away = scraped({ ...world.store, db: undefined as never }, world.options.rules)

    expect((await away.lines()).join('\n')).toMatch(/^simherd_oldest_notice_seconds nan$/im)
  })
})
