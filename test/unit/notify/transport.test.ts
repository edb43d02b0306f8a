import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { renderMail } from '../../../notify/render.ts'
import { createTransport, MailError, type OutgoingMail, type Transport } from '../../../notify/transport.ts'
import { refusal, startMailbox } from './mailbox.ts'
import { anAlert, aSummary } from './notifications.ts'

const FROM = 'Simherd <simherd@example.net>'

const aMail = (over: Partial<OutgoingMail> = {}): OutgoingMail => ({
  ...renderMail([anAlert()], { serviceUrl: 'https://simherd.example.net' }),
  to: 'billing@acme.example',
  messageId: '<0d5fb0d3@simherd>',
  ...over,
})

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

function transportTo(smtpUrl: string, timeoutMs = 3000): Transport {
  const transport = createTransport({ smtpUrl, from: FROM, timeoutMs })
  cleanups.push(() => transport.close())
  return transport
}

async function mailboxAndTransport(options: SMTPServerOptions = {}) {
  const mailbox = await startMailbox(options)
  cleanups.push(mailbox.stop)
  return { mailbox, transport: transportTo(mailbox.url) }
}

const failureOf = async (sending: Promise<unknown>): Promise<MailError> => {
  const failure = await sending.then(
    () => expect.fail('it was sent'),
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(MailError)
  return failure as MailError
}

describe('a remote SMTP server', () => {
  // Reaches this machine, under an address that does not count as local.
  const elsewhere = (url: string) => url.replace(/127\.0\.0\.1|localhost/, '0.0.0.0')

  test('receives nothing unless it offers encryption', async () => {
    const { mailbox } = await mailboxAndTransport({ hideSTARTTLS: true, disabledCommands: ['AUTH', 'STARTTLS'] })

    const failure = await failureOf(transportTo(elsewhere(mailbox.url)).send(aMail()))

    expect(failure.kind).toBe('temporary')
    expect(mailbox.received).toEqual([])
  })

  test('receives clear text if the operator allows it', async () => {
    const { mailbox } = await mailboxAndTransport({ hideSTARTTLS: true, disabledCommands: ['AUTH', 'STARTTLS'] })
    const transport = createTransport({ smtpUrl: elsewhere(mailbox.url), from: FROM, timeoutMs: 3000, plain: true })
    cleanups.push(() => transport.close())

    await transport.send(aMail())

    expect(mailbox.received).toHaveLength(1)
  })
})

describe('send', () => {
  test('delivers both parts as they were rendered', async () => {
    const { mailbox, transport } = await mailboxAndTransport()
    const mail = aMail()

    const delivery = await transport.send(mail)

    expect(delivery.accepted).toEqual(['billing@acme.example'])
    expect(delivery.response).toMatch(/^250 /)
    const [received] = mailbox.received
    expect(received?.to).toEqual(['billing@acme.example'])
    expect(received?.mail).toMatchObject({
      subject: mail.subject,
      from: { name: 'Simherd', address: 'simherd@example.net' },
      messageId: '<0d5fb0d3@simherd>',
    })
    expect(received?.mail.text?.trimEnd()).toBe(mail.text.trimEnd())
    expect(received?.mail.html?.trimEnd()).toBe(mail.html.trimEnd())
  })

  test('marks the mail as automatic', async () => {
    const { mailbox, transport } = await mailboxAndTransport()

    await transport.send(aMail())

    const headers = new Map(mailbox.received[0]?.mail.headers.map(({ key, value }) => [key, value]))
    expect(headers.get('auto-submitted')).toBe('auto-generated')
    expect(headers.get('x-auto-response-suppress')).toBe('All')
  })

  test('keeps the Message-ID of a repeated mail', async () => {
    const { mailbox, transport } = await mailboxAndTransport()

    await transport.send(aMail())
    await transport.send(aMail())

    expect(mailbox.received.map(({ mail }) => mail.messageId)).toEqual(['<0d5fb0d3@simherd>', '<0d5fb0d3@simherd>'])
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
    await transport
      .send(aMail({ to: 'billing@acme.example, thief@example.org' }))
      .catch((error: unknown) => expect(error).toBeInstanceOf(MailError))

    expect(mailbox.received.flatMap(({ to }) => to)).not.toContain('thief@example.org')
    expect(mailbox.received[0]?.source).not.toMatch(/^bcc:/im)
  })
})

describe('a failure to send', () => {
  test.each([
    ['greylisting', 451, 'temporary'],
    ['a full mailbox', 452, 'temporary'],
    ['an unknown mailbox', 550, 'permanent'],
    ['a refused message', 554, 'permanent'],
    ['a muddled session', 503, 'temporary'],
    ['a demand for a password', 530, 'temporary'],
  ])('after %s (%i at RCPT) is %s', async (_, code, kind) => {
    const { transport } = await mailboxAndTransport({ onRcptTo: (_to, _s, done) => done(refusal(code, 'not now')) })

    const failure = await failureOf(transport.send(aMail()))

    expect(failure).toMatchObject({ kind, responseCode: code })
    expect(failure.message).toContain(`${code} not now`)
  })

  test.each([
    [451, 'temporary'],
    [554, 'permanent'],
  ])('with %i after the message is %s', async (code, kind) => {
    const { transport } = await mailboxAndTransport({
      onData: (stream, _s, done) => void stream.resume().on('end', () => done(refusal(code, 'no'))),
    })

    expect(await failureOf(transport.send(aMail()))).toMatchObject({ kind, responseCode: code })
  })

  test('is temporary for a refused password', async () => {
    const mailbox = await startMailbox({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _s, done) => done(refusal(535, 'wrong password')),
    })
    cleanups.push(mailbox.stop)
    const transport = transportTo(mailbox.url.replace('smtp://', 'smtp://user:s3cret@'))

    const failure = await failureOf(transport.send(aMail()))

    expect(failure).toMatchObject({ kind: 'temporary', responseCode: 535 })
    expect(failure.message).not.toContain('s3cret')
  })

  test('is temporary if nobody listens', async () => {
    const mailbox = await startMailbox()
    await mailbox.stop()

    const failure = await failureOf(transportTo(mailbox.url).send(aMail()))

    expect(failure).toMatchObject({ kind: 'temporary', responseCode: undefined })
    expect(failure.message).toContain('ECONNREFUSED')
  })

  test('is permanent without an address', async () => {
    const { transport } = await mailboxAndTransport()

    expect(await failureOf(transport.send(aMail({ to: '' })))).toMatchObject({ kind: 'permanent' })
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
    cleanups.push(() => {
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

    const failure = await failureOf(transportTo(server.url).send(aMail()))

    expect(failure.kind).toBe('temporary')
    expect(server.messages()).toBe(1)
  })

  test('is given up if it never greets', async () => {
    const server = await aServer(() => {})

    expect((await failureOf(transportTo(server.url, 200).send(aMail()))).kind).toBe('temporary')
  })

  test('is given up in time if it trickles', async () => {
    const server = await aServer((socket) => {
      socket.write('220 hello\r\n')
      const drip = setInterval(() => socket.write('250-wait\r\n'), 40)
      socket.on('close', () => clearInterval(drip))
    })
    server.trickle()
    const began = Date.now()

    const failure = await failureOf(transportTo(server.url, 300).send(aMail()))

    expect(failure.kind).toBe('temporary')
    expect(Date.now() - began).toBeLessThan(2000)
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
