/** A mail is stored as it is rendered: what is sent, shown and sent again is that. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { MailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import type { MailQuery } from '../../../domain/channels/mail.ts'
import { TariffType } from '../../../domain/codes.ts'
import type { Notification } from '../../../domain/notifications/notification.ts'
import { addAddress, changeBillingAddress } from '../../../service/channels/change-addresses.ts'
import { resendMail } from '../../../service/channels/resend-mail.ts'
import { findMail, pageOfMails } from '../../../service/channels/rows/shown-mails.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { aPost, messageId, type Post, SECOND } from './post.ts'

const store = await aStore()

/** Renders as a later release does. */
const later = (post: Post): MailChannel => ({
  ...post.mailer,
  render: () => ({ subject: 'later', text: 'later', html: 'later', headers: {} }),
})
const shown = async (post: Post, id = '') => post.asTenant((tx) => findMail(tx, id))
const onlyMail = async (post: Post) => (await post.mails())[0]?.id ?? ''
/** As line ends and encodings of the parts are SMTP's. */
const plain = (text = '') => text.replaceAll('\r\n', '\n').trim()

describe('a composed mail', () => {
  test('is sent as it was rendered, by whichever release', async () => {
    let code: number | undefined = 451
    const post = await aPost(store, { refuse: () => code })
    await post.sendOne()
    code = undefined
    store.now += 2 * SECOND
    await post.send(later(post))

    const [mail] = await post.arrived()
    expect(mail?.text).toContain('notice/0')
    expect(mail?.headers['auto-submitted']).toBe('auto-generated')
  })

  test('is shown as it was sent', async () => {
    const post = await aPost(store)
    await post.sendOne()

    const [mail] = await post.arrived()
    const found = await shown(post, messageId(mail as never))
    expect(found).toMatchObject({ subject: mail?.subject, recipient: mail?.to, status: 'sent', resends: null })
    expect(plain(found?.body?.text)).toBe(plain(mail?.text))
    expect(plain(found?.body?.html)).toBe(plain(mail?.html))
    expect(found?.body?.headers).toEqual({
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'Simherd-Tenant': 'Acme',
    })
    expect(await shown(post, '<nothing@simherd>')).toBeUndefined()
  })

  test('names all its notices, and in a list the first hundred', async () => {
    const post = await aPost(store)
    await post.sendOne()
    await post.rows(sql`
      insert into notifications (dedupe_key, level, body, due_at, mail_id, created_at)
      select 'more/' || n, level, body, due_at, mail_id, created_at from notifications, generate_series(1, 149) n
      returning 1`)

    const [listed] = (await post.asTenant((tx) => pageOfMails(tx, {}))).data
    const found = await shown(post, await onlyMail(post))

    expect(found?.keys).toHaveLength(150)
    expect(listed?.keys).toEqual(found?.keys.slice(0, 100))
  })

  test('is kept for thirteen months', async () => {
    const post = await aPost(store)
    await post.sendOne()
    const id = await onlyMail(post)
    const began = store.now
    const mailAfter = async (days: number) => {
      store.now = began + days * 86_400 * SECOND
      await post.sendOne()
      return shown(post, id)
    }
    const kept = await mailAfter(395)
    const gone = await mailAfter(397)
    const resending = post.asTenant((tx) => resendMail(tx, id))

    expect(kept?.body).not.toBeNull()
    expect(kept?.attemptLog).toHaveLength(1)
    expect(gone).toMatchObject({ body: null, attemptLog: [] })
    await expect(resending).rejects.toMatchObject({ code: 'mail_text_gone' })
    store.now = began
  })
})

test('mails are found by a subject of theirs, with those that repeat them, and say what they are about', async () => {
  const post = await aPost(store)
  await post.asTenant((tx) => addAddress(tx, { kind: 'copy', email: 'field@meadow.example' }))
  const subjects = [
    { kind: 'sim', id: 12, label: 'meter-012' },
    { kind: 'pool', id: 12, label: 'Meters' },
    { kind: 'tenant', id: 'acme', label: 'Acme' },
  ] as const
  for (const subject of subjects) {
    const { body, dueAt } = post.notification()
    await post.notify({ body: { ...body, subject } as Notification, dueAt })
    await post.send()
    store.now += 3600 * SECOND
  }
  const listed = async (query: MailQuery, keys?: string[]) =>
    (await post.asTenant((tx) => pageOfMails(tx, query, keys))).data.map(({ id }) => id)
  const original = (await post.mails()).find(({ keys }) => keys.includes('notice/0'))?.id ?? ''
  const [copy = ''] = (await listed({ simId: 12 })).filter((id) => id !== original)
  const { id: again } = await post.asTenant((tx) => resendMail(tx, original))
  await post.send()
  const { id: oncemore } = await post.asTenant((tx) => resendMail(tx, again))

  expect(await listed({ simId: 12 })).toEqual(expect.arrayContaining([original, copy, again, oncemore]))
  expect(await listed({ simId: 12 })).toHaveLength(4)
  expect(await listed({ simId: 12, status: 'pending' })).toEqual([oncemore])
  expect(await listed({ poolId: 12 })).toHaveLength(2)
  expect(await listed({ simId: 13 })).toEqual([])
  expect(await listed({}, ['notice/2'])).toHaveLength(2)
  expect(await listed({}, [])).toEqual([])
  expect(await shown(post, original)).toMatchObject({
    about: [{ rule: 'pool-overage', subject: subjects[0] }],
    copies: [copy],
    resentAs: [again],
    resends: null,
  })
  expect(await shown(post, copy)).toMatchObject({ about: [{ subject: subjects[0] }], copyOf: original })
  expect(await shown(post, oncemore)).toMatchObject({
    about: [{ subject: subjects[0] }],
    keys: [],
    resends: again,
    resentAs: [],
  })
  const [ofTenant = ''] = await listed({}, ['notice/2'])
  expect(await shown(post, ofTenant)).toMatchObject({ about: [{ subject: { kind: 'tenant', id: 0, label: 'Acme' } }] })
})

describe('resendMail', () => {
  test('sends the same under a new Message-ID, to the address of the moment', async () => {
    const post = await aPost(store)
    await post.sendOne()
    const id = await onlyMail(post)
    await post.asTenant((tx) => changeBillingAddress(tx, 'new@meadow.example'))
    const { id: newId } = await post.asTenant((tx) => resendMail(tx, id))
    const pending = post.asTenant((tx) => resendMail(tx, newId))
    await expect(pending).rejects.toMatchObject({ code: 'mail_pending' })
    await post.send(later(post))

    const [first, again] = await post.arrived()
    expect(first?.to).toBe('billing@meadow.example')
    const { subject, text, html } = first ?? {}
    expect(again).toMatchObject({ to: 'new@meadow.example', subject, text, html })
    expect([first, again].map((mail) => messageId(mail as never))).toEqual([id, newId])
    expect(await shown(post, newId)).toMatchObject({ resends: id, status: 'sent' })
    expect(await shown(post, id)).toMatchObject({ recipient: 'billing@meadow.example' })
  })

  test('attaches the statement again', async () => {
    const post = await aPost(store)
    const began = store.now
    const { id: tariffId } = await post.asTenant((tx) => aTariff(tx, TariffType.Standard, 1_000_000))
    const [simId = 0] = await post.activeSims(1, { tariffId })
    await post.record([post.usage(simId, { bytesUp: 1_500_000 })])
    store.now = Date.parse('2026-12-01T06:00:00Z')
    await post.asTenant((tx) => closeCycle(tx, '2026-11'))
    await post.send()
    await post.asTenant(async (tx) => resendMail(tx, await onlyMail(post)))
    await post.send()
    store.now = began

    const [first, again] = await post.arrived()
    const [statement, second] = [await post.statement(first), await post.statement(again)]
    expect(statement).toContain(',1.5,')
    expect(second).toBe(statement)
    expect(await post.rows(sql`select attachments from mail_bodies`)).toEqual(
      Array(2).fill({ attachments: [expect.not.objectContaining({ content: expect.anything() })] }),
    )
  })

  test('refuses a mail that is not there', async () => {
    const post = await aPost(store)

    await expect(post.asTenant((tx) => resendMail(tx, '<x@simherd>'))).rejects.toMatchObject({ code: 'mail_not_found' })
  })
})
