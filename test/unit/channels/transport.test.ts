import { type AddressInfo, createServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import {
  checkSmtp,
  createTransport,
  type OutgoingMail,
  type Transport,
} from '../../../adapters/channels/mail/transport.ts'
import { HOSTILE_NAMES } from './hostile.ts'
import { anAlert, aSummary, MAIL_LINKS } from './notifications.ts'

const FROM = 'Simherd <simherd@example.net>'

const aMail = (over: Partial<OutgoingMail> = {}): OutgoingMail => ({
  ...renderMail([anAlert()], MAIL_LINKS),
  to: 'billing@acme.example',
  messageId: '<0d5fb0d3@simherd>',
  ...over,
})

/** A real SMTP server on a free port that keeps each mail, unless `options` has another `onData`. */
async function startMailbox(options: SMTPServerOptions = {}) {
  const received: { readonly to: readonly string[]; readonly source: string; readonly mail: Email }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: async (stream, session, done) => {
      const source = String(await buffer(stream))
      const to = session.envelope.rcptTo.map(({ address }) => address)
      received.push({ to, source, mail: await PostalMime.parse(source) })
      done()
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  onTestFinished(stop)
  return { url: `smtp://127.0.0.1:${port}`, received, stop }
}

/** An error by which the server refuses with this reply code. */
const refusal = (code: number, words: string) => Object.assign(new Error(words), { responseCode: code })

function transportTo(smtpUrl: string, more: { readonly timeoutMs?: number; readonly plain?: boolean } = {}): Transport {
  const transport = createTransport({ smtpUrl, from: FROM, timeoutMs: 30_000, ...more })
  onTestFinished(() => transport.close())
  return transport
}

async function mailboxAndTransport(options: SMTPServerOptions = {}) {
  const mailbox = await startMailbox(options)
  return { mailbox, transport: transportTo(mailbox.url) }
}
describe('a remote SMTP server', () => {
  // Reaches this machine, under an address that does not count as local.
  const elsewhere = (url: string) => url.replace('127.0.0.1', '0.0.0.0')
  const CLEAR = { hideSTARTTLS: true, disabledCommands: ['AUTH', 'STARTTLS'] }

  test('receives nothing unless it offers encryption', async () => {
    const mailbox = await startMailbox(CLEAR)

    expect((await transportTo(elsewhere(mailbox.url)).send(aMail())).outcome).toBe('ours')
    expect(mailbox.received).toEqual([])
    await expect(checkSmtp({ smtpUrl: elsewhere(mailbox.url) })).rejects.toThrow('500 Error')
    await expect(checkSmtp({ smtpUrl: elsewhere(mailbox.url), plain: true })).resolves.toBeUndefined()
  })

  test('receives clear text if the operator allows it', async () => {
    const mailbox = await startMailbox(CLEAR)

    await transportTo(elsewhere(mailbox.url), { plain: true }).send(aMail())

    expect(mailbox.received).toHaveLength(1)
  })
})

describe('send', () => {
  test('delivers both parts as they were rendered', async () => {
    const { mailbox, transport } = await mailboxAndTransport()
    const mail = aMail()

    const delivery = await transport.send(mail)

    expect(delivery.outcome).toBe('delivered')
    expect(delivery.response).toMatch(/^250 /)
    const [received] = mailbox.received
    expect(received?.to).toEqual(['billing@acme.example'])
    expect(received?.mail).toMatchObject({
      subject: mail.subject,
      from: { name: 'Simherd for Acme', address: 'simherd@example.net' },
      messageId: '<0d5fb0d3@simherd>',
    })
    expect(received?.mail.text?.trimEnd()).toBe(mail.text.trimEnd())
    expect(received?.mail.html?.trimEnd()).toBe(mail.html.trimEnd())
  })

  test('names the tenant in the sender, and only there', async () => {
    const { mailbox, transport } = await mailboxAndTransport()
    const names = ['Acme, Inc. <ceo@acme.example>', 'Zähler & "Söhne"', '=?utf-8?Q?Bank?=', '\u202eemcA', '']

    for (const tenantName of names) await transport.send(aMail(renderMail([anAlert({ tenantName })])))

    expect(mailbox.received.map(({ mail }) => mail.from)).toEqual(
      ['Acme, Inc. <ceo@acme.example>', 'Zähler & "Söhne"', '=utf-8?Q?Bank?=', 'emcA', undefined].map((tenant) => ({
        name: tenant === undefined ? 'Simherd' : `Simherd for ${tenant}`,
        address: 'simherd@example.net',
      })),
    )
    expect(mailbox.received.filter(({ mail }) => mail.subject?.includes('Acme'))).toEqual([])
  })

  test('has the same headers and recipient, whatever things are called', async () => {
    const { mailbox, transport } = await mailboxAndTransport()

    for (const name of ['x', ...HOSTILE_NAMES]) {
      const subject = { kind: 'pool', id: 7, label: name } as const
      await transport.send(aMail(renderMail([anAlert({ tenantName: `T ${name}`, subject, message: name })])))
    }

    expect(mailbox.received).toHaveLength(HOSTILE_NAMES.length + 1)
    const keysOf = (headers: readonly { readonly key: string }[]) => headers.map(({ key }) => key).toSorted()
    const expected = keysOf(mailbox.received[0]?.mail.headers ?? [])
    for (const { to, mail } of mailbox.received) {
      expect(to).toEqual(['billing@acme.example'])
      expect(keysOf(mail.headers)).toEqual(expected)
      expect(`${mail.subject} ${mail.from?.name}`).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
    }
  })

  test('marks the mail as automatic, and has the headers to unsubscribe whole, however long', async () => {
    const { mailbox, transport } = await mailboxAndTransport()
    await transport.send(aMail())
    const headers = new Map(mailbox.received[0]?.mail.headers.map(({ key, value }) => [key, value]))

    expect(headers.get('auto-submitted')).toBe('auto-generated')
    expect(headers.get('x-auto-response-suppress')).toBe('All')
    expect(headers.get('list-unsubscribe')?.replaceAll(/\s/g, '')).toBe(aMail().headers['List-Unsubscribe'])
    expect(headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  })

  test('attaches the statement as CSV', async () => {
    const { mailbox, transport } = await mailboxAndTransport()

    await transport.send(aMail(renderMail([aSummary({ statementCsv: 'iccid,tag\n8944,zähler-1\n' })])))

    const [statement] = mailbox.received[0]?.mail.attachments ?? []
    expect(statement).toMatchObject({ filename: 'statement-2026-11.csv', mimeType: 'text/csv' })
    expect(new TextDecoder().decode(statement?.content as ArrayBuffer)).toBe('iccid,tag\n8944,zähler-1\n')
  })

  test('lets no content add headers or recipients', async () => {
    const { mailbox, transport } = await mailboxAndTransport()
    const mean = 'x\r\nBcc: thief@example.org\r\n\r\nbody'

    await transport.send(aMail({ subject: mean, messageId: '<id\r\nBcc: thief@example.org>' }))
    await transport.send(aMail({ to: 'billing@acme.example, thief@example.org' }))

    expect(mailbox.received.flatMap(({ to }) => to)).not.toContain('thief@example.org')
    expect(mailbox.received[0]?.source).not.toMatch(/^bcc:/im)
  })
})

describe('a failure to send', () => {
  test.each([
    ['greylisting', 451, 'later'],
    ['a full mailbox', 452, 'later'],
    ['an unknown mailbox', 550, 'gone'],
    ['a refused message', 554, 'refused'],
    ['a muddled session', 503, 'ours'],
    ['a demand for a password', 530, 'ours'],
  ])('after %s (%i at RCPT) is %s', async (_, code, outcome) => {
    const { transport } = await mailboxAndTransport({ onRcptTo: (_to, _s, done) => done(refusal(code, 'not now')) })

    const failure = await transport.send(aMail())

    expect(failure).toMatchObject({ outcome, code })
    expect(failure.response).toContain(`${code} not now`)
  })

  test.each([
    [451, 'later'],
    [554, 'refused'],
  ])('with %i after the message is %s', async (code, outcome) => {
    const { transport } = await mailboxAndTransport({
      onData: (stream, _s, done) => void stream.resume().on('end', () => done(refusal(code, 'no'))),
    })

    expect(await transport.send(aMail())).toMatchObject({ outcome, code })
  })

  test('is ours for a refused password', async () => {
    const mailbox = await startMailbox({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _s, done) => done(refusal(535, 'wrong password')),
    })
    const smtpUrl = mailbox.url.replace('smtp://', 'smtp://user:s3cret@')

    const failure = await transportTo(smtpUrl).send(aMail())

    expect(failure).toMatchObject({ outcome: 'ours', code: 535 })
    expect(failure.response).not.toContain('s3cret')
    await expect(checkSmtp({ smtpUrl })).rejects.toThrow('535')
  })

  test('is ours if nobody listens', async () => {
    const mailbox = await startMailbox()
    await mailbox.stop()

    const failure = await transportTo(mailbox.url).send(aMail())

    expect(failure).toMatchObject({ outcome: 'ours', code: null })
    expect(failure.response).toContain('ECONNREFUSED')
  })

  test('is the address’s without one', async () => {
    const { transport } = await mailboxAndTransport()

    expect(await transport.send(aMail({ to: '' }))).toMatchObject({ outcome: 'gone' })
  })
})

describe('an SMTP server that misbehaves', () => {
  /** Speaks just enough SMTP; calls `onMessage` at the last line of each mail. */
  async function aServer(onConnect: (socket: Socket) => void, onMessage: (socket: Socket) => void = () => {}) {
    const sockets = new Set<Socket>()
    let messages = 0
    let trickles = false
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      let inData = false
      socket.on('data', (chunk) => {
        const text = chunk.toString()
        if (inData) {
          if (!text.endsWith('\r\n.\r\n')) return
          messages += 1
          inData = false
          onMessage(socket)
        } else if (text.startsWith('DATA')) {
          inData = true
          socket.write('354 go on\r\n')
        } else if (!trickles) socket.write('250 ok\r\n')
      })
      onConnect(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return {
      url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
      messages: () => messages,
      trickle: () => (trickles = true),
    }
  }

  test('gets no second copy if its connection dies', async () => {
    const server = await aServer(
      (socket) => socket.write('220 hello\r\n'),
      (socket) => socket.destroy(),
    )

    expect((await transportTo(server.url).send(aMail())).outcome).toBe('later')
    expect(server.messages()).toBe(1)
  })

  test('is given up if it never greets', async () => {
    const server = await aServer(() => {})

    expect((await transportTo(server.url, { timeoutMs: 200 }).send(aMail())).outcome).toBe('later')
  })

  test('is given up though it trickles for ever', async () => {
    const server = await aServer((socket) => {
      socket.write('220 hello\r\n')
      const drip = setInterval(() => socket.write('250-wait\r\n'), 40)
      socket.on('close', () => clearInterval(drip))
    })
    server.trickle()

    expect((await transportTo(server.url, { timeoutMs: 300 }).send(aMail())).outcome).toBe('later')
  })
})

describe('createTransport', () => {
  test.each(['', 'mail.example.net:25', 'http://u:s3cret@mail'])(
    'refuses the server %j without showing it',
    (smtpUrl) => {
      expect(() => createTransport({ smtpUrl, from: FROM })).toThrow(/^((?!s3cret).)*SMTP_URL$/)
    },
  )
})
