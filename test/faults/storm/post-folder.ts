/** The folder of the mail server with manners: what it is told to do, and what it has done. */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** File names in the folder. */
export const MANNERS = 'manners.json'
export const ANSWERS = 'answers.jsonl'
export const KEPT = 'mails'
/** What it notes when it has kept a mail that it will answer late. */
export const KEPT_LATE = 'kept, late'

export interface Manners {
  /** Whether it takes the login. */
  readonly login: boolean
  /** Time between keeping a mail and answering, in milliseconds. */
  readonly answerMs: number
  /** Manners that are bad now, by the first word of the recipient's address. */
  readonly bad: readonly string[]
}

/** A line of its journal. */
export interface Answer {
  /** Epoch milliseconds. */
  readonly at: number
  readonly answer: string
  /** Empty for a login. */
  readonly to: string
  /** Of the kept mail; absent where none was kept. */
  readonly mailId?: string
  readonly messageId?: string
  /** How long the sender has waited until it left, in milliseconds. */
  readonly waitedMs?: number
}

/** What it has answered so far. Leaves out a line that is being written. */
export async function readAnswers(folder: string): Promise<Answer[]> {
  const text = await readFile(join(folder, ANSWERS), 'utf8').catch(() => '')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Answer => JSON.parse(line))
}

/** How many mails it has kept so far, with duplicates. */
export const countKept = async (folder: string): Promise<number> =>
  (await readdir(join(folder, KEPT)).catch(() => [])).filter((name) => name.endsWith('.eml')).length

/** Changes its manners. It never reads half a file. */
export async function writeManners(folder: string, manners: Manners): Promise<void> {
  await writeFile(join(folder, `${MANNERS}.new`), JSON.stringify(manners))
  await rename(join(folder, `${MANNERS}.new`), join(folder, MANNERS))
}
