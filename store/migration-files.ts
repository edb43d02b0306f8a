/**
 * Files of migrations: `migrations/NNNN_name.sql`. What a file needs stands in its first lines:
 *
 *     -- phase: contract
 *     -- no-transaction
 *
 * Without the first its phase is `expand`: processes of the release before go on with the schema it makes. A file of the
 * phase `contract` takes away what they need, and runs once none of them is left. Without the second it is one
 * transaction; with it each statement is its own, as `create index concurrently` asks for, and the file can be run again
 * where it broke off. Such a file has no semicolon at the end of a line but those that end statements.
 *
 * Functions of the database: `functions/<function>.sql`, one `create or replace function` each. They run after the
 * numbered files, each whenever its text is new: the database remembers it by the text's hash. An earlier release that
 * migrates again leaves a newer text alone. A text that goes back to what it was needs another comment to run again.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

const MIGRATIONS = new URL('migrations/', import.meta.url)
const FUNCTIONS = new URL('functions/', import.meta.url)

export type Phase = 'expand' | 'contract'

export interface MigrationFile {
  /** `0020_processes`: what the database remembers it by. */
  readonly name: string
  readonly phase: Phase
  /** Whether the file is one transaction. */
  readonly transaction: boolean
  readonly text: string
}

/** @param name of the file, without its ending */
export function migrationFile(name: string, text: string): MigrationFile {
  const head = text.split('\n').slice(0, 10)
  return {
    name,
    phase: head.includes('-- phase: contract') ? 'contract' : 'expand',
    transaction: !head.includes('-- no-transaction'),
    text,
  }
}

/** Statements of a file, as they are sent: those of one transaction at once. */
export const statementsOf = ({ transaction, text }: MigrationFile): readonly string[] =>
  transaction ? [text] : text.split(/(?<=;)[ \t]*\n/).filter((statement) => !/^(\s|--.*)*$/.test(statement))

/** Names of all numbered files, in their order. */
export async function migrationNames(folder: URL = MIGRATIONS): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.replace(/\.sql$/, '')).toSorted()
}

/** All numbered files, in their order. @param folder of the files */
export async function readMigrationFiles(folder: URL = MIGRATIONS): Promise<MigrationFile[]> {
  const names = await migrationNames(folder)
  return Promise.all(
    names.map(async (name) => migrationFile(name, await readFile(new URL(`${name}.sql`, folder), 'utf8'))),
  )
}

/** Those of the functions; what the database remembers each by has its hash. */
export async function readFunctionFiles(folder: URL = FUNCTIONS): Promise<MigrationFile[]> {
  const names = await migrationNames(folder)
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(`${name}.sql`, folder), 'utf8')
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
      return migrationFile(`functions/${name}@${hash}`, text)
    }),
  )
}

/** What brings a database to this release: the numbered files, then the functions. */
export const readAllFiles = async (): Promise<MigrationFile[]> => [
  ...(await readMigrationFiles()),
  ...(await readFunctionFiles()),
]

let ofThisRelease: Promise<readonly string[]> | undefined
/** What a database of this release remembers. Read once a process. */
export const namesOfThisRelease = (): Promise<readonly string[]> => {
  ofThisRelease ??= readAllFiles().then((files) => files.map(({ name }) => name))
  return ofThisRelease
}
