import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EventSeverity, LogLevel, TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { renderMail } from '../../../notify/render.ts'
import { createTransport } from '../../../notify/transport.ts'
import { type Mailer, sendMails } from '../../../operations/mail/send-mails.ts'
import { closeCycle } from '../../../operations/month-end/close-cycle.ts'
import { evaluateSubjects } from '../../../operations/watchdog/evaluate-subjects.ts'
import type { EvaluationOptions } from '../../../operations/watchdog/evaluation.ts'
import { activateRules, rulesInForce } from '../../../operations/watchdog/rules-in-force.ts'
import { type InboxOptions, startInbox } from '../../../stack/inbox/inbox.ts'
import type { Mail } from '../../../stack/inbox/mails.ts'
import { insertNotifications, type NewNotification, tenantsWithMail } from '../../../store/mail/mails.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aPool, aStore, aTariff, byHand } from '../../setup/estate.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { soon } from '../../setup/soon.ts'
import { anAlert, aWarning } from '../../unit/notify/notifications.ts'
import { aHarness } from '../harness.ts'

// A ledger is written by hand here, without its pool's totals.
const store = await aStore(undefined, { counted: false })
const OPTIONS = { retryMaxMs: 60_000, attempts: 4 }
const BILLING = 'billing@meadow.example'
const SECOND = 1000

const WARNING_RULE = 'sim/sim-usage-warning.json'
const text = await readFile(new URL(`../../../rules/${WARNING_RULE}`, import.meta.url), 'utf8')
await activateRules(store, [{ file: WARNING_RULE, text }], 'the tests')
const EVALUATION: EvaluationOptions = {
  rules: rulesInForce(),
  waits: { pollMin: 'PT0.1S', pollMax: 'PT1S' },
  closeAfter: 'PT6H',
  groupFirstMs: 60 * SECOND,
  groupNextMs: 3600 * SECOND,
}

/** A tenant with an SMTP inbox of its own. */
async function aPost(options: Omit<InboxOptions, 'dir'> = {}, billingCycle = 'P1M') {
  const harness = await aHarness(store, billingCycle)
  const inbox = await startInbox({ dir: await temporaryFolder(), ...options })
  const transport = createTransport({
    smtpUrl: inbox.smtpUrl,
    from: 'Simherd <simherd@meadow.example>',
    timeoutMs: 3000,
  })
  onTestFinished(async () => {
    transport.close()
    await inbox.stop()
  })
  const mailer: Mailer = { render: renderMail, transport }
  let number = 0
  const notification = (level: LogLevel, dueInMs: number, key = `notice/${number++}`): NewNotification => {
    const body = level === LogLevel.Critical ? anAlert({ key, message: key }) : aWarning({ key, level, message: key })
    return { body, dueAt: new Date(store.now + dueInMs) }
  }
  return {
    ...harness,
    mailer,
    notification,
    notify: (...notifications: NewNotification[]) => harness.asTenant((tx) => insertNotifications(tx, notifications)),
    send: (by: Mailer = mailer) => sendMails(store, by, OPTIONS, harness.tenantId),
    /** The mails that have arrived, the oldest first. */
    arrived: async (): Promise<Mail[]> => {
      const response = await fetch(inbox.inboxUrl, { headers: { accept: 'application/json' } })
      return ((await response.json()) as Mail[]).toReversed()
    },
    statement: async (mail: Mail | undefined) =>
      (await fetch(`${inbox.inboxUrl.replace(/\/$/, '')}/mails/${mail?.id}/attachments/0`)).text(),
    mails: () =>
      harness.rows(sql<{ id: string; status: string; attempts: number; nextAt: Date; keys: string[] }>`
        select m.id, m.status, m.attempts, m.next_attempt_at as "nextAt",
               array(select dedupe_key from notifications n where n.mail_id = m.id order by n.id) as keys
          from mails m order by m.created_at, m.id`),
    events: () =>
      harness.rows(sql<{ title: string; description: string; severity: number }>`
      select title, description, severity from events where type = 1 order by id`),
    hasWork: async () => (await inPlatform(store, (tx) => tenantsWithMail(tx, 1000))).includes(harness.tenantId),
  }
}

const messageId = (mail: Mail) => mail.headers['message-id']

describe('notifications', () => {
  test('go into exactly one mail under concurrent sends', async () => {
    const post = await aPost()
    const notifications = Array.from({ length: 12 }, (_, i) =>
      post.notification(i % 3 === 0 ? LogLevel.Critical : LogLevel.Warning, 0),
    )

    for (let begin = 0; begin < notifications.length; begin += 3) {
      await post.notify(...notifications.slice(begin, begin + 3))
      await Promise.all([post.send(), post.send(), post.notify(...notifications.slice(0, begin + 4)), post.send()])
    }
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

  test('leave at once if critical, else grouped when due', async () => {
    const post = await aPost()
    const [first, second, critical] = [
      post.notification(LogLevel.Warning, 60 * SECOND),
      post.notification(LogLevel.Info, 90 * SECOND),
      post.notification(LogLevel.Critical, 0),
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
      expect.stringMatching(/2 notices/),
    ])
  })

  test('overtake a thousand others if critical', async () => {
    const post = await aPost()
    await post.notify(...Array.from({ length: 1001 }, () => post.notification(LogLevel.Warning, 3600 * SECOND)))
    const critical = post.notification(LogLevel.Critical, 0)
    await post.notify(critical)

    await post.send()

    expect((await post.mails()).map(({ keys }) => keys)).toEqual([[critical.body.key]])
  })

  test('wait for a billing e-mail', async () => {
    const post = await aPost()
    await post.rows(sql`update tenants set billing_email = '' returning 1`)
    await post.notify(post.notification(LogLevel.Critical, 0))

    await post.send()
    const kept = { mails: await post.mails(), found: await post.hasWork() }
    await post.rows(sql`update tenants set billing_email = ${BILLING} returning 1`)
    await post.send()

    expect(kept).toEqual({ mails: [], found: true })
    expect(await post.arrived()).toMatchObject([{ to: BILLING }])
  })
})

describe('grouped mails', () => {
  test.each([
    ['an hour', 'P1M', 3600],
    ['a tenth of a short cycle', 'PT1H', 360],
  ])('leave at least %s apart', async (_, billingCycle, distance) => {
    const post = await aPost({}, billingCycle)
    store.now = Date.parse('2026-11-10T12:00:00Z')
    const poolId = await post.asTenant(async (tx) => {
      const tariff = await aTariff(tx, TariffType.Standard, 100)
      return (await aPool(tx, tariff.id, { watchdogMode: WatchdogMode.Monitor, warningThresholdPct: 80 })).id
    })
    const sims = await post.activeSims(6, { poolId })
    const fire = async (simId = 0) => {
      await post.record([post.usage(simId, { bytesUp: 85 })])
      await evaluateSubjects(store, EVALUATION, post.tenantId)
      await post.send()
    }
    const mailedSims = async () =>
      (await post.mails()).map(({ keys }) =>
        keys.map((key) => Number(/^sim-usage-warning\/sim\/(\d+)\//.exec(key)?.[1])),
      )
    const wait = async (seconds: number) => {
      store.now += seconds * SECOND
      await post.send()
    }
    const seen: number[][][] = []

    await fire(sims[0])
    await wait(30)
    await fire(sims[1])
    await wait(29.999)
    seen.push(await mailedSims())
    await wait(0.001)
    seen.push(await mailedSims())
    await wait(1)
    await fire(sims[2])
    await wait(100)
    await fire(sims[3])
    await wait(distance - 101.001)
    seen.push(await mailedSims())
    await wait(0.001)
    seen.push(await mailedSims())

    const [a, b, c, d] = sims
    expect(seen).toEqual([
      [],
      [[a, b]],
      [[a, b]],
      [
        [a, b],
        [c, d],
      ],
    ])
  })
})

describe('a notification that cannot be rendered', () => {
  const ODD = 'odd'
  /** Renders as a build that knows the notification `ODD` only once `knows()` is true. */
  const renders = (post: Awaited<ReturnType<typeof aPost>>, knows: () => boolean): Mailer => ({
    ...post.mailer,
    render: (notifications) => {
      if (!knows() && notifications.some(({ key }) => key === ODD))
        throw new Error('a value the template does not have')
      return post.mailer.render(notifications)
    },
  })

  test('gets its own mail and blocks no other', async () => {
    const post = await aPost()
    await post.notify(post.notification(LogLevel.Critical, 0), post.notification(LogLevel.Critical, 0, ODD))
    let knows = false
    const mailer = renders(post, () => knows)

    await post.send(mailer)
    const without = Object.fromEntries((await post.mails()).map(({ status, keys }) => [status, keys]))
    knows = true
    store.now += 2 * SECOND
    await post.send(mailer)

    expect(without).toEqual({ sent: ['notice/0'], pending: [ODD] })
    expect((await post.arrived()).map(({ subject }) => subject)).toEqual([
      expect.stringContaining('notice/0'),
      expect.stringContaining(ODD),
    ])
  })

  test('is given up after the usual attempts', async () => {
    const post = await aPost()
    const mailer = renders(post, () => false)
    await post.notify(post.notification(LogLevel.Critical, 0, ODD))
    for (let attempt = 1; attempt <= OPTIONS.attempts; attempt++) {
      await post.notify(post.notification(LogLevel.Critical, 0))
      await post.send(mailer)
      store.now += 60 * SECOND
    }

    expect((await post.mails()).map(({ status }) => status).toSorted()).toEqual(['failed', ...Array(4).fill('sent')])
    expect((await post.events()).filter(({ severity }) => severity === EventSeverity.Critical)).toMatchObject([
      { title: 'E-mail given up: notices that cannot be written' },
    ])
  })
})

describe('a mail', () => {
  test('is marked as sent, whatever the server responds', async () => {
    const post = await aPost()
    await post.notify(post.notification(LogLevel.Critical, 0))
    const send: Mailer['transport']['send'] = async (mail) => ({
      ...(await post.mailer.transport.send(mail)),
      response: '250 taken \0 \ud800',
    })

    await post.send({ ...post.mailer, transport: { send } })
    store.now += 3600 * SECOND
    await post.send()

    expect(await post.arrived()).toHaveLength(1)
    expect(await post.mails()).toMatchObject([{ status: 'sent' }])
  })

  test('keeps its Message-ID when resent after a crash', async () => {
    const post = await aPost()
    await post.notify(post.notification(LogLevel.Critical, 0))
    const dies: Mailer = {
      ...post.mailer,
      transport: {
        send: async (mail) => {
          await post.mailer.transport.send(mail)
          // As in a killed process: nothing runs after this, not even the mark of a failure.
          return new Promise(() => undefined)
        },
      },
    }

    void post.send(dies)
    await soon(async () => expect(await post.arrived()).toHaveLength(1))
    const lost = (await post.arrived()).map(messageId)
    await post.notify(post.notification(LogLevel.Critical, 0))
    await post.send()
    const duringLease = await post.arrived()
    store.now += 5 * 60 * SECOND
    await post.send()

    const arrived = await post.arrived()
    expect(new Set(duringLease.map(messageId)).size).toBe(2)
    expect(arrived.map(messageId).filter((id) => lost.includes(id))).toHaveLength(2)
    expect(arrived).toHaveLength(3)
    expect((await post.mails()).map(({ status }) => status)).toEqual(['sent', 'sent'])
  })

  test('keeps its Message-ID when resent after a dropped connection', async () => {
    let drops = 1
    const post = await aPost({ dropAfterData: () => drops-- > 0 })
    await post.notify(post.notification(LogLevel.Critical, 0))

    await post.send()
    store.now += 2 * SECOND
    await post.send()

    const arrived = await post.arrived()
    expect(arrived).toHaveLength(2)
    expect(new Set(arrived.map(messageId)).size).toBe(1)
    expect(await post.mails()).toMatchObject([{ status: 'sent', attempts: 2 }])
  })

  test('is retried with doubling backoff after a 4xx', async () => {
    const codes = [451, 451, 451]
    const post = await aPost({ refuse: () => codes.shift() })
    await post.notify(post.notification(LogLevel.Critical, 0))
    const pauses: number[] = []
    for (let attempt = 1; attempt <= 3; attempt++) {
      await post.send()
      const [mail] = await post.mails()
      pauses.push((mail?.nextAt.getTime() ?? 0) - store.now)
      store.now = (mail?.nextAt.getTime() ?? 0) - 1
      await post.send()
      expect(await post.mails()).toMatchObject([{ status: 'pending', attempts: attempt }])
      store.now += 1
      expect(await post.hasWork()).toBe(true)
    }
    await post.send()

    expect(pauses).toEqual([2 * SECOND, 4 * SECOND, 8 * SECOND])
    expect(await post.mails()).toMatchObject([{ status: 'sent', attempts: 4 }])
    expect(await post.arrived()).toHaveLength(1)
    expect(await post.events()).toMatchObject([{ title: expect.stringMatching(/^E-mail sent: /), severity: 0 }])
  })

  test('is given up with an event after a 550', async () => {
    const post = await aPost({ refuse: (to) => (to === 'gone@meadow.example' ? 550 : undefined) })
    await post.rows(sql`update tenants set billing_email = 'gone@meadow.example' returning 1`)
    await post.notify(post.notification(LogLevel.Critical, 0))
    await post.send()
    store.now += SECOND
    await post.rows(sql`update tenants set billing_email = ${BILLING} returning 1`)
    await post.notify(post.notification(LogLevel.Critical, 0))
    await post.send()

    expect((await post.mails()).map(({ status, attempts }) => [status, attempts])).toEqual([
      ['failed', 1],
      ['sent', 1],
    ])
    expect(await post.events()).toMatchObject([
      { title: expect.stringMatching(/^E-mail given up: /), severity: 2 },
      { title: expect.stringMatching(/^E-mail sent: /) },
    ])
    expect(await post.hasWork()).toBe(false)
  })

  test('is given up after the last attempt', async () => {
    const post = await aPost({ refuse: () => 451 })
    await post.notify(post.notification(LogLevel.Critical, 0))
    for (let attempt = 1; attempt <= OPTIONS.attempts + 1; attempt++) {
      await post.send()
      store.now += OPTIONS.retryMaxMs
    }

    expect(await post.mails()).toMatchObject([{ status: 'failed', attempts: OPTIONS.attempts }])
    expect(await post.events()).toMatchObject([{ title: expect.stringMatching(/^E-mail given up: /) }])
  })
})

describe('a given-up mail', () => {
  test('shows the server’s response to the operator only', async () => {
    const post = await aPost({ refuse: () => 550 })
    await post.notify(post.notification(LogLevel.Critical, 0))
    await post.send()

    const [event] = await post.events()
    expect(event?.description).toBe(
      `Not delivered to ${BILLING} after 1 attempt(s): the mail server refuses it for this address (550).`,
    )
    expect(await post.rows(sql`select response from mails`)).toEqual([
      { response: expect.stringContaining(`refused: ${BILLING}`) },
    ])
  })

  test('hides the mail server’s address from the tenant', async () => {
    const post = await aPost()
    const transport = createTransport({ smtpUrl: 'smtp://127.0.0.1:9', from: 'Simherd <s@meadow.example>' })
    await post.notify(post.notification(LogLevel.Critical, 0))
    for (let attempt = 1; attempt <= OPTIONS.attempts; attempt++) {
      await post.send({ ...post.mailer, transport })
      store.now += OPTIONS.retryMaxMs
    }
    transport.close()

    const [event] = await post.events()
    expect(event?.description).toMatch(/: the mail server cannot be reached, or does not take it now\.$/)
    expect(await post.rows(sql`select response from mails`)).toEqual([
      { response: expect.stringContaining('127.0.0.1:9') },
    ])
  })
})

describe('the summary of a cycle', () => {
  test('leaves in its own mail, with the statement', async () => {
    const post = await aPost()
    const tariff = await post.asTenant((tx) => aTariff(tx, TariffType.Standard, 1_000_000))
    const [simId = 0] = await post.activeSims(1, { tariffId: tariff.id })
    const began = store.now
    await post.record([post.usage(simId, { bytesUp: 1_500_000, smsCount: 2, voiceSeconds: 90 })])
    store.now = Date.parse('2026-12-01T06:00:00Z')
    const steps = { moved: 0, unassigned: 0, changesFailed: 0, renewed: 0 }
    await post.notify(post.notification(LogLevel.Warning, 0), post.notification(LogLevel.Critical, 0))
    await post.asTenant((tx) => closeCycle(tx, '2026-11', steps))
    await post.asTenant((tx) => closeCycle(tx, '2026-11', steps))

    await post.send()
    store.now = began

    const mails = await post.mails()
    expect(mails.map(({ keys }) => keys.length)).toEqual([1, 1, 1])
    expect(mails.filter(({ keys }) => keys.includes('summary/2026-11'))).toHaveLength(1)
    const summary = (await post.arrived()).find(({ subject }) => subject.includes('2026-11'))
    const [header, ...lines] = (await post.statement(summary)).replace('\uFEFF', '').trim().split(/\r?\n/)
    expect(header).toBe(
      'line,pool,iccid,usageMB,limitMB,overageMB,voiceMins,smsCount,fee,sms,voice,overage,total,adjusts',
    )
    expect(lines).toEqual([
      expect.stringMatching(/^sim,,\d{19},1\.5,1,0\.5,1\.5,2,1\.000000,0\.100000,0\.150000,0\.002500,1\.252500,$/),
    ])
  })

  test('attaches only the pools of a long statement', async () => {
    const post = await aPost()
    const began = store.now
    await post.asTenant(async (tx) => {
      const { id } = await aPool(tx, (await aTariff(tx, TariffType.Standard, 1_000_000)).id, { name: 'Many' })
      await byHand(tx)
      await sql`
        with made as (
          insert into sims (iccid, type, status_since, created_at, updated_at)
          select (8944600000000000000 + n)::text, 0, ${tx.now}::timestamptz, ${tx.now}, ${tx.now}
            from generate_series(1, 20001) n returning id
        )
        insert into usage_ledger (cycle_key, sim_id, pool_id, contributing, bytes)
        select '2026-11', id, ${id}::integer, true, 1500 from made`.execute(tx.q)
    })
    store.now = Date.parse('2026-12-01T06:00:00Z')
    const steps = { moved: 0, unassigned: 0, changesFailed: 0, renewed: 0 }
    await post.asTenant((tx) => closeCycle(tx, '2026-11', steps))

    await post.send()
    store.now = began

    const [summary] = await post.arrived()
    const rows = (await post.statement(summary)).trim().split(/\r?\n/)
    expect(rows).toHaveLength(2)
    expect(rows[1]).toMatch(/^pool,Many,,30\.0015,/)
    expect(summary?.text).toContain(
      'attached: statement-2026-11.csv, its pools only: 20,001 more lines at /internal/cycles/2026-11/statement.csv',
    )
  }, 60_000)
})
