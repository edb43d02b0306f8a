import { createTransport } from 'nodemailer'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type InboxOptions, startInbox } from '../../stack/inbox/inbox.ts'
import type { InboxMail } from '../../stack/inbox/mails.ts'
import { temporaryFolder } from '../setup/folder.ts'

async function anInbox(options: Partial<InboxOptions> = {}) {
  const dir = options.dir ?? (await temporaryFolder())
  const inbox = await startInbox({ ...options, dir })
  onTestFinished(() => inbox.stop())
  const send = (mail: object = {}) =>
    createTransport(inbox.smtpUrl).sendMail({
      from: 'Simherd <simherd@localhost>',
      to: 'billing@acme.example',
      subject: 'Pool Fleet is at 91 %',
      text: 'Used 9.1 GB of 10 GB — über',
      html: '<p>Used <b>9.1 GB</b></p>',
      ...mail,
    })
  const list = async () => {
    const response = await fetch(inbox.inboxUrl, { headers: { accept: 'application/json' } })
    return (await response.json()) as InboxMail[]
  }
  return { ...inbox, dir, send, list }
}

describe('the inbox', () => {
  test('returns a mail as it was sent', async () => {
    const { send, list } = await anInbox()

    await send({ messageId: '<alert-1@simherd>', date: new Date('2026-11-20T12:00:00Z') })

    expect(await list()).toEqual([
      {
        id: expect.any(String),
        from: 'Simherd <simherd@localhost>',
        to: 'billing@acme.example',
        subject: 'Pool Fleet is at 91 %',
        date: '2026-11-20T12:00:00.000Z',
        text: expect.stringMatching(/^Used 9\.1 GB of 10 GB — über\n?$/),
        html: expect.stringContaining('<p>Used <b>9.1 GB</b></p>'),
        headers: expect.objectContaining({ 'message-id': '<alert-1@simherd>' }),
      },
    ])
  })

  test('lists the newest mail first and deletes all', async () => {
    const { send, list, inboxUrl } = await anInbox()

    await send({ subject: 'first' })
    await send({ subject: 'second' })
    expect((await list()).map(({ subject }) => subject)).toEqual(['second', 'first'])
    await fetch(inboxUrl, { method: 'DELETE' })

    expect(await list()).toEqual([])
  })

  test('keeps its mails over a restart', async () => {
    const before = await anInbox()
    await before.send({ subject: 'kept' })
    await before.stop()

    const after = await anInbox({ dir: before.dir })

    expect((await after.list()).map(({ subject }) => subject)).toEqual(['kept'])
  })

  test('refuses a recipient with the configured code', async () => {
    const { send, list } = await anInbox({ refuse: (recipient) => (recipient.startsWith('gone@') ? 550 : undefined) })

    await expect(send({ to: 'gone@acme.example' })).rejects.toMatchObject({ responseCode: 550 })
    expect(await list()).toEqual([])
  })

  test('keeps a mail whose connection it then drops', async () => {
    const { send, list } = await anInbox({ dropAfterData: () => true })

    await expect(send()).rejects.toMatchObject({ code: expect.stringMatching(/ECONNECTION|ESOCKET/) })
    expect(await list()).toHaveLength(1)
  })

  test('shows a mail’s content as text only', async () => {
    const { send, list, inboxUrl } = await anInbox()
    const attack = '"><script>alert(1)</script>'
    await send({ subject: attack, text: attack, html: attack, headers: { 'X-Note': attack } })
    const [mail] = await list()

    const pages = await Promise.all(['/', `/mails/${mail?.id}`].map((path) => fetch(inboxUrl + path)))
    const own = await fetch(`${inboxUrl}/mails/${mail?.id}/html`)

    for (const page of pages) expect(await page.text()).not.toContain('<script')
    expect(own.headers.get('content-security-policy')).toMatch(/default-src 'none'.*sandbox/)
  })

  test('returns an attachment as it was sent', async () => {
    const { send, list, inboxUrl } = await anInbox()
    await send({ attachments: [{ filename: 'statement.csv', content: 'pool,bytes\n7,12\n' }] })
    const [mail] = await list()

    const file = await fetch(`${inboxUrl}/mails/${mail?.id}/attachments/0`)

    expect(file.headers.get('content-disposition')).toContain('statement.csv')
    expect(await file.text()).toBe('pool,bytes\n7,12\n')
  })
})
