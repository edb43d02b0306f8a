/** Starts and kills the mail server with manners (post-office.ts). */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from '../../../stack/child.ts'
import { freePort } from '../../../stack/free-port.ts'
import { openMails } from '../../../stack/inbox/mails.ts'
import { killable } from '../../setup/own-servers.ts'
import { countKept, KEPT, type Manners, readAnswers, writeManners } from './post-folder.ts'

const PROGRAM = fileURLToPath(new URL('post-office.ts', import.meta.url))

export async function startMailServer(first: Manners) {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-post-'))
  const port = await freePort()
  let manners = first
  await writeManners(folder, manners)
  const start = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const onLine = (line: string) => (line.endsWith('listening') ? resolve() : console.error(line))
    const child = startChild({ name: 'mail server', args: [PROGRAM, folder, String(port)], onLine })
    const died = child.ended.then((how) => Promise.reject(new Error(`the mail server: ${how}`)))
    await Promise.race([promise, died])
    // It is killed later, which is no failure.
    died.catch(() => undefined)
    return { pid: child.pid ?? 0, stop: child.stop }
  }
  const { outage, stop } = await killable(start)
  return {
    smtpUrl: `smtp://simherd:secret@127.0.0.1:${port}`,
    outage,
    turn: async (change: Partial<Manners>) => {
      manners = { ...manners, ...change }
      await writeManners(folder, manners)
    },
    answers: () => readAnswers(folder),
    kept: () => countKept(folder),
    /** What it has kept, with duplicates. */
    mails: () => openMails(join(folder, KEPT)),
    stop: async () => {
      await stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
