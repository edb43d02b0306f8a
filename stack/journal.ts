/** A file of JSON lines that only grows. Entries whose `append` has resolved survive a SIGKILL and a loss of power. */
import { mkdir, open, readFile, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface Journal {
  /** Resolves when the entry is on disk. Simultaneous entries share one write. */
  readonly append: (entry: object) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Opens a journal and reads its entries. Removes a last line that a crash cut short: its `append` never resolved.
 *
 * @throws Error with the line of a file that is not a journal
 */
export async function openJournal(file: string): Promise<{ journal: Journal; entries: unknown[] }> {
  await mkdir(dirname(file), { recursive: true })
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole.length < text.length) await truncate(file, Buffer.byteLength(whole))
  const lines = whole.split('\n').filter(Boolean)
  const entries = lines.map((line, index): unknown => {
    try {
      return JSON.parse(line)
    } catch (error) {
      throw new Error(`${file}, line ${index + 1} is not JSON: move the file away to begin anew`, { cause: error })
    }
  })
  return { journal: await writerOf(file), entries }
}

async function writerOf(file: string): Promise<Journal> {
  const handle = await open(file, 'a', 0o600)
  let waiting: string[] = []
  // Each caller waits for the write after the current one. That write takes all waiting entries.
  let next: Promise<void> | undefined
  let last: Promise<void> = Promise.resolve()

  const write = async () => {
    next = undefined
    const text = waiting.join('')
    waiting = []
    await handle.appendFile(text)
    await handle.datasync()
  }
  const append = (entry: object): Promise<void> => {
    waiting.push(`${JSON.stringify(entry)}\n`)
    // After a failed write, every later append fails with the same error.
    next ??= last = last.then(write)
    return next
  }
  const close = async () => {
    await last.catch(() => undefined)
    await handle.close()
  }
  return { append, close }
}
