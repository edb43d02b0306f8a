/** A real SMTP server on a free port that keeps each mail, unless `options` has another `onData`. */
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface Received {
  readonly to: readonly string[]
  readonly source: string
  readonly mail: Email
}

export async function startMailbox(options: SMTPServerOptions = {}) {
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: async (stream, session, done) => {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk as Buffer)
      const source = Buffer.concat(chunks).toString()
      const to = session.envelope.rcptTo.map(({ address }) => address)
      received.push({ to, source, mail: await PostalMime.parse(source) })
      done()
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** An error by which the server refuses with this reply code. */
export const refusal = (code: number, words: string) => Object.assign(new Error(words), { responseCode: code })
