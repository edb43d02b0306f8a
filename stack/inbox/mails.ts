/** The mails of the inbox: one file each, as received, and parsed in memory. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime, { type Address, type Email } from 'postal-mime'

/** A mail, as `GET /` returns it. */
export interface InboxMail {
  readonly id: string
  /** As in the mail's header: `Name <address>`, or the address alone. Several are separated by commas. */
  readonly from: string
  readonly to: string
  readonly subject: string
  /** ISO 8601, from the mail's Date header; without one, the time of arrival. */
  readonly date: string
  readonly text: string
  readonly html: string
  /** By name in lower case. A repeated header has its values on separate lines. */
  readonly headers: Readonly<Record<string, string>>
}

interface MailAttachment {
  readonly name: string
  readonly type: string
  readonly content: Uint8Array
}

export interface StoredMail {
  readonly mail: InboxMail
  readonly attachments: readonly MailAttachment[]
}

export interface Mails {
  /** Keeps a mail. Resolves when it is on disk. */
  readonly add: (source: Buffer) => Promise<InboxMail>
  /** Newest first. */
  readonly list: () => readonly InboxMail[]
  readonly find: (id: string) => StoredMail | undefined
  readonly source: (id: string) => Promise<Buffer>
  readonly clear: () => Promise<void>
}

const SUFFIX = '.eml'

/** Opens a folder of mails, and makes it if it is missing. Ignores files that a crash left incomplete. */
export async function openMails(dir: string): Promise<Mails> {
  await mkdir(dir, { recursive: true })
  const mails = new Map<string, StoredMail>()
  for (const file of (await readdir(dir)).sort()) {
    if (!file.endsWith(SUFFIX)) continue
    const id = file.slice(0, -SUFFIX.length)
    mails.set(id, await parse(id, await readFile(join(dir, file))))
  }
  const pathOf = (id: string) => join(dir, `${id}${SUFFIX}`)
  let counter = 0

  const add = async (source: Buffer): Promise<InboxMail> => {
    counter += 1
    // Sorts by time of arrival, even across restarts.
    const id = `${Date.now()}-${String(counter).padStart(6, '0')}-${randomBytes(3).toString('hex')}`
    const stored = await parse(id, source)
    const unfinished = `${pathOf(id)}.new`
    const handle = await open(unfinished, 'w', 0o600)
    try {
      await handle.writeFile(source)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, pathOf(id))
    mails.set(id, stored)
    return stored.mail
  }
  const clear = async () => {
    for (const id of mails.keys()) {
      await rm(pathOf(id), { force: true })
      mails.delete(id)
    }
  }
  return {
    add,
    clear,
    list: () => [...mails.values()].map(({ mail }) => mail).reverse(),
    find: (id) => mails.get(id),
    source: (id) => readFile(pathOf(id)),
  }
}

async function parse(id: string, source: Buffer): Promise<StoredMail> {
  const email = await PostalMime.parse(source)
  const arrived = Number(id.split('-')[0])
  const mail: InboxMail = {
    id,
    from: addresses(email.from === undefined ? [] : [email.from]),
    to: addresses(email.to ?? []),
    subject: email.subject ?? '',
    date: isoDate(email.date) ?? new Date(arrived).toISOString(),
    text: email.text ?? '',
    html: email.html ?? '',
    headers: headersOf(email),
  }
  const attachments = email.attachments.map(({ filename, mimeType, content }, index) => ({
    name: filename ?? `attachment-${index + 1}`,
    type: mimeType,
    content: typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content),
  }))
  return { mail, attachments }
}

function headersOf(email: Email): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { key, value } of email.headers) {
    headers[key] = headers[key] === undefined ? value : `${headers[key]}\n${value}`
  }
  return headers
}

const addresses = (list: readonly Address[]): string =>
  list
    .flatMap((entry) => entry.group ?? [entry])
    .map(({ name, address }) => (name === '' ? address : `${name} <${address}>`))
    .join(', ')

function isoDate(text: string | undefined): string | undefined {
  const date = new Date(text ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
