import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type MailChannel, mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { createTransport } from '../../../adapters/channels/mail/transport.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { addAddress, changeBillingAddress } from '../../../service/channels/change-addresses.ts'
import { retryMail } from '../../../service/channels/resend-mail.ts'
import { findMail } from '../../../service/channels/rows/shown-mails.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { aStore } from '../../setup/estate.ts'
import { soon } from '../../setup/soon.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import { aPost, BILLING, messageId, type Post, RETRIES, SECOND } from './post.ts'

const store = await aStore()

describe('a mail', () => {
  test('is marked as sent, whatever the server responds', async () => {
    const post = await aPost(store)
    await post.notify(post.notification())
    const send: MailChannel['send'] = async (...mail) => ({
      ...(await post.mailer.send(...mail)),
      response: '250 taken \0 \ud800',
    })

    await post.send({ ...post.mailer, send })
    store.now += 3600 * SECOND
    await post.send()

    expect(await post.arrived()).toHaveLength(1)
    expect(await post.mails()).toMatchObject([{ status: 'sent' }])
  })

  test('keeps its Message-ID when resent after a crash', async () => {
    const post = await aPost(store)
    await post.notify(post.notification())
    const dies: MailChannel = {
      ...post.mailer,
      send: async (...mail) => {
        await post.mailer.send(...mail)
        // As in a killed process: nothing runs after this, not even the mark of a failure.
        return new Promise(() => undefined)
      },
    }

    void post.send(dies)
    await soon(async () => expect(await post.arrived()).toHaveLength(1))
    const lost = (await post.arrived()).map(messageId)
    await post.sendOne()
    const duringLease = await post.arrived()
    store.now += 5 * 60 * SECOND
    await post.send()

    const arrived = await post.arrived()
    expect(new Set(duringLease.map(messageId)).size).toBe(2)
    expect(arrived.map(messageId).filter((id) => lost.includes(id))).toHaveLength(2)
    expect(arrived).toHaveLength(3)
    expect((await post.mails()).map(({ status }) => status)).toEqual(['sent', 'sent'])
  })

  test('is retried with doubling backoff after a 4xx', async () => {
    const codes = [451, 451, 451]
    const post = await aPost(store, { refuse: () => codes.shift() })
    await post.notify(post.notification())
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

  test('is given up when its address is refused twice, an hour apart, and goes to a new one', async () => {
    const post = await aPost(store, { refuse: (to) => (to === 'gone@meadow.example' ? 550 : undefined) })
    await post.rows(sql`update tenants set billing_email = 'gone@meadow.example' returning 1`)
    await post.notify(post.notification())
    const seen: unknown[] = []
    for (const pause of [0, 1800 * SECOND, 1800 * SECOND]) {
      store.now += pause
      await post.send()
      seen.push((await post.mails()).map(({ status, attempts }) => [status, attempts]))
    }
    const given = [await post.hasWork(), (await post.events()).map(({ title }) => title)]
    await post.asTenant((tx) => changeBillingAddress(tx, BILLING))
    await post.send()

    expect(seen).toEqual([[['pending', 1]], [['pending', 1]], [['failed', 2]]])
    expect(given).toEqual([false, [expect.stringMatching(/^E-mail given up: /)]])
    expect(await post.mails()).toMatchObject([{ status: 'sent' }])
    expect((await post.arrived()).map(({ to }) => to)).toEqual([BILLING])
  })

  test('waits with all others while the server lets us send nothing, and is never given up for that', async () => {
    let isOpen = false
    let asked = 0
    const post = await aPost(store, {
      refuse: () => {
        asked += 1
        return isOpen ? undefined : 530
      },
    })
    const troubles: string[] = []
    const send = () =>
      sendMails(store, post.mailer, { ...RETRIES, onTrouble: (response) => troubles.push(response) }, post.tenantId)
    for (let n = 0; n < 5; n += 1) {
      await post.notify(post.notification())
      // So far apart that they do not share a mail.
      store.now += 600 * SECOND
      await post.send()
    }
    asked = 0
    for (let hour = 0; hour < 6 * 60; hour += 30) {
      store.now += 1800 * SECOND
      await send()
    }
    const waited = [asked, troubles.length, (await post.mails()).map(({ status }) => status)]
    isOpen = true
    store.now += 300 * SECOND
    await post.send()

    expect(waited).toEqual([12, 12, Array(5).fill('pending')])
    expect(await post.events()).toHaveLength(5)
    expect(await post.arrived()).toHaveLength(5)
  })

  test('is given up after the time for it, and is tried again when a person asks', async () => {
    let code: number | undefined = 451
    const post = await aPost(store, { refuse: () => code })
    await post.notify(post.notification())
    for (let at = 0; at <= RETRIES.giveUpAfterMs; at += RETRIES.giveUpAfterMs / 4) {
      await post.send()
      store.now += RETRIES.giveUpAfterMs / 4
    }
    const [mail] = await post.mails()
    code = undefined
    await post.asTenant((tx) => retryMail(tx, mail?.id ?? ''))
    await post.send()

    expect(mail).toMatchObject({ status: 'failed', attempts: 5 })
    expect(await post.events()).toMatchObject([
      { title: expect.stringMatching(/^E-mail given up: /) },
      { title: expect.stringMatching(/^E-mail sent: /) },
    ])
    await expect(post.asTenant((tx) => retryMail(tx, mail?.id ?? ''))).rejects.toMatchObject({
      code: 'mail_not_failed',
    })
  })
})

describe('the attempts at a mail', () => {
  const logOf = async (post: Post) => {
    const [mail] = await post.mails()
    return (await post.asTenant((tx) => findMail(tx, mail?.id ?? '')))?.attemptLog
  }

  test('are kept with their answers, over a retry by a person too', async () => {
    const codes = [451, 554]
    const post = await aPost(store, { refuse: () => codes.shift() })
    const began = store.now
    const after = (seconds: number) => new Date(began + seconds * SECOND).toISOString()
    await post.sendOne()
    store.now += 2 * SECOND
    await post.send()
    await post.asTenant(async (tx) => retryMail(tx, (await post.mails())[0]?.id ?? ''))
    store.now += 1 * SECOND
    await post.send()

    expect(await logOf(post)).toEqual([
      { at: after(0), outcome: 'later', response: expect.stringContaining('451'), nextAttemptAt: after(2) },
      { at: after(2), outcome: 'refused', response: expect.stringContaining('554'), nextAttemptAt: null },
      { at: after(3), outcome: 'delivered', response: expect.stringContaining('250'), nextAttemptAt: null },
    ])
    expect(await post.mails()).toMatchObject([{ attempts: 1 }])
  })

  test('are the newest fifty, each answer shortened', async () => {
    const post = await aPost(store)
    let tried = 0
    await post.notify(post.notification())
    for (let n = 0; n < 55; n += 1) {
      const response = `${(tried += 1)}: ${'x'.repeat(5000)}`
      await post.send({ ...post.mailer, send: async () => ({ outcome: 'ours', code: null, response, why: '' }) })
      store.now += 300 * SECOND
    }
    const log = (await logOf(post)) ?? []

    expect(log.map(({ response }) => Number.parseInt(response ?? '', 10))).toEqual(
      Array.from({ length: 50 }, (_, n) => n + 6),
    )
    expect(Math.max(...log.map(({ response }) => response?.length ?? 0))).toBeLessThanOrEqual(500)
  })
})

describe('a given-up mail', () => {
  test('shows the server’s response to the operator only', async () => {
    const post = await aPost(store, { refuse: () => 554 })
    await post.sendOne()

    const [event] = await post.events()
    expect(event?.description).toBe(
      `Not delivered to ${BILLING} after 1 attempt: the mail server refuses the mail (554).`,
    )
    expect(await post.rows(sql`select response from deliveries`)).toEqual([
      { response: expect.stringContaining(`refused: ${BILLING}`) },
    ])
  })

  test('hides the mail server’s address from the tenant', async () => {
    const post = await aPost(store)
    const transport = createTransport({ smtpUrl: 'smtp://127.0.0.1:9', from: 'Simherd <s@meadow.example>' })
    await post.notify(post.notification())
    await post.send(mailChannel(transport))
    transport.close()

    expect(await post.events()).toEqual([])
    expect(await post.rows(sql`select response from deliveries`)).toEqual([
      { response: expect.stringContaining('127.0.0.1:9') },
    ])
  })
})

/** Addresses besides the billing address. */
const [FIELD, NIGHT] = ['field@meadow.example', 'night@meadow.example']

const reached = async (post: Post) => (await post.arrived()).map(({ to }) => to).toSorted()
const copyTo = (post: Post, email: string, more: { level?: LogLevel; rules?: string } = {}) =>
  post.asTenant((tx) => addAddress(tx, { kind: 'copy', email, ...more }))

describe('a copy of a mail', () => {
  test('says the same, under a Message-ID of its own', async () => {
    const post = await aPost(store)
    await copyTo(post, FIELD)
    await post.sendOne()

    const [one, other] = await post.arrived()
    expect(await reached(post)).toEqual([BILLING, FIELD])
    // Who gets a copy does not unsubscribe the tenant.
    expect(other?.text).toBe(one?.text.replace(/^Unsubscribe .*\n\n/m, ''))
    expect(new Set([one, other].map((mail) => messageId(mail as never))).size).toBe(2)
  })

  test('goes only to those who want the level and the rule', async () => {
    const post = await aPost(store)
    await copyTo(post, FIELD, { level: LogLevel.Critical })
    await copyTo(post, NIGHT, { rules: 'no-such-*' })
    await post.notify(post.notification(LogLevel.Warning))
    await post.send()
    const warned = await reached(post)
    await post.sendOne()

    expect([warned, await reached(post)]).toEqual([[BILLING], [BILLING, BILLING, FIELD]])
  })
})

test('an escalation goes to the addresses for it; without one to billing', async () => {
  const post = await aPost(store)
  const escalate = async (key: string) => {
    await post.notify({ body: anAlert({ kind: 'escalated', key }), dueAt: new Date(store.now) })
    await post.send()
  }
  await escalate('a/escalated')
  const before = await reached(post)
  await post.asTenant((tx) => addAddress(tx, { kind: 'escalation', email: NIGHT }))
  await escalate('b/escalated')

  expect(before).toEqual([BILLING])
  expect(await reached(post)).toEqual([BILLING, NIGHT])
})
