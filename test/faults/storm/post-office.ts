/**
 * A mail server with manners, as a process of its own that can be killed: `node test/faults/storm/post-office.ts <folder> <port>`.
 *
 * How it treats a recipient is the first word of the address: `451.3@meadow.example`. While that word is among the bad
 * manners of `manners.json` in its folder, it does so; else the mail is taken. That file may change at any time.
 *
 *   421, 451, 5.1.1, 5.7.1   this answer to the recipient
 *   drops                    breaks the connection in the middle of DATA
 *   keeps                    keeps the mail, then breaks the connection instead of answering; once for each mail
 *   late                     keeps the mail, and answers 10 s later
 *   stalls, stalls-after     says nothing any more, at the recipient, or after it has kept the mail; once for each recipient
 *
 * What it has kept is in `mails/`, one file each; what it has answered is a line of `answers.jsonl`. Both are written
 * before the answer, so a kill loses neither.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { openMails } from '../../../stack/inbox/mails.ts'
import { ANSWERS, type Answer, KEPT, KEPT_LATE, MANNERS, type Manners, readAnswers } from './post-folder.ts'

const [, , folder = '.', port = '0'] = process.argv
const mails = await openMails(join(folder, KEPT))
const before = await readAnswers(folder)
/** What is done once only, and was done already, also before a kill: keys are the answer and whom it met. */
const keyOf = ({ answer, to, messageId }: Omit<Answer, 'at'>) => `${answer}/${messageId ?? to}`
const done = new Set(before.map(keyOf))

const manners = (): Manners => JSON.parse(readFileSync(join(folder, MANNERS), 'utf8'))
/** The bad manner that a recipient meets now; null: none. */
const metBy = (to: string): string | null => {
  const manner = to.slice(0, to.lastIndexOf('.', to.indexOf('@')))
  return manners().bad.includes(manner) ? manner : null
}

function note(answer: string, to: string, of: Omit<Answer, 'at' | 'answer' | 'to'> = {}): void {
  done.add(keyOf({ answer, to, ...of }))
  const line: Answer = { at: Date.now(), answer, to, ...of }
  appendFileSync(join(folder, ANSWERS), `${JSON.stringify(line)}\n`)
}

const refusal = (responseCode: number, words: string) => Object.assign(new Error(words), { responseCode })
const REFUSALS: Readonly<Record<string, Error>> = {
  '421': refusal(421, '4.3.2 closing for now'),
  '451': refusal(451, '4.3.0 try again later'),
  '451-always': refusal(451, '4.3.0 try again later'),
  '5.1.1': refusal(550, '5.1.1 no such mailbox'),
  '5.7.1': refusal(550, '5.7.1 we do not relay for you'),
}

/** Longer than it takes until a Redis that was killed has jobs again. */
const LATE_MS = 10_000

const sockets = new Map<number, Socket>()
const server = new SMTPServer({
  allowInsecureAuth: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  // Answers have codes of their own.
  hideENHANCEDSTATUSCODES: true,
  logger: false,
  onAuth(_auth, _session, callback) {
    if (manners().login) return callback(null, { user: 'simherd' })
    note('535', '')
    return callback(refusal(535, '5.7.8 authentication failed'))
  },
  onRcptTo({ address }, session, callback) {
    const manner = metBy(address)
    const refused = REFUSALS[manner ?? '']
    if (refused !== undefined) {
      note(refused.message.startsWith('5') ? `550 ${manner}` : (manner ?? '').slice(0, 3), address)
      return callback(refused)
    }
    if (manner === 'stalls' && !done.has(`stalled/${address}`)) {
      stall(session.remotePort, 'stalled', address)
      return undefined
    }
    return callback()
  },
  onData(stream, session, callback) {
    const to = session.envelope.rcptTo[0]?.address ?? ''
    const manner = metBy(to)
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (manner !== 'drops' || chunks.length > 1) return
      note('dropped in DATA', to)
      sockets.get(session.remotePort)?.destroy()
    })
    stream.once('end', () => {
      if (manner !== 'drops') void keep(Buffer.concat(chunks), to, manner, session.remotePort, callback)
    })
  },
})

async function keep(
  source: Buffer,
  to: string,
  manner: string | null,
  remotePort: number,
  callback: (error: Error | null, message?: string) => void,
): Promise<void> {
  const { id: mailId, headers } = await mails.add(source)
  const messageId = headers['message-id'] ?? ''
  if (manner === 'late') note(KEPT_LATE, to, { mailId, messageId })
  // As a server does that looks for spam. A sender that is killed meanwhile does not learn of the answer.
  await sleep(manner === 'late' ? LATE_MS : manners().answerMs)
  if (manner === 'keeps' && !done.has(`kept, dropped/${messageId}`)) {
    note('kept, dropped', to, { mailId, messageId })
    sockets.get(remotePort)?.destroy()
  } else if (manner === 'stalls-after' && !done.has(`kept, stalled/${to}`)) {
    stall(remotePort, 'kept, stalled', to)
  } else {
    note('250', to, { mailId, messageId })
    callback(null, '2.0.0 kept')
  }
}

/** Says nothing any more on a connection, and notes for how long the sender has waited. */
function stall(remotePort: number, answer: string, to: string): void {
  const began = Date.now()
  note(answer, to)
  sockets.get(remotePort)?.once('close', () => note(`${answer}, left`, to, { waitedMs: Date.now() - began }))
}

// A client may break its connection. That is no failure here.
server.on('error', () => undefined)
server.server.on('connection', (socket: Socket) => {
  const { remotePort } = socket
  if (remotePort === undefined) return
  sockets.set(remotePort, socket)
  socket.once('close', () => sockets.delete(remotePort))
})
server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
