/**
 * Migration files: `migrations/NNNN_name.sql`. A file's first 10 lines say what it needs:
 *
 *     -- phase: contract
 *     -- no-transaction
 *
 * Without the first line, the phase is `expand`: processes of the previous release can work with the new schema. A
 * `contract` file removes what those processes need, and runs only once none of them is left.
 *
 * Without the second line, the file is one transaction. With it, each statement runs by itself, as `create index
 * concurrently` requires, and the file must be safe to run again after a failure. In such a file, a semicolon at the
 * end of a line always ends a statement.
 *
 * Functions of the database: `functions/<function>.sql`, one `create or replace function` each, and its grants. Those that
 * tables need are in the baseline. They run after the numbered files, each whenever its text is new. The database remembers a text by its hash. So an earlier release that
 * migrates again leaves a newer text alone, and a text that goes back to what it was needs another comment to run again.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

const MIGRATIONS = new URL('migrations/', import.meta.url)
const FUNCTIONS = new URL('functions/', import.meta.url)

export type Phase = 'expand' | 'contract'

export interface MigrationFile {
  /** Name under which the database records the migration, such as `0001_baseline`. */
  readonly name: string
  readonly phase: Phase
  /** Whether the file runs as one transaction. */
  readonly transaction: boolean
  readonly text: string
}

/** Reads the options in a migration's first lines. @param name of the file, without its extension */
export function migrationFile(name: string, text: string): MigrationFile {
  const head = text.split('\n').slice(0, 10)
  return {
    name,
    phase: head.includes('-- phase: contract') ? 'contract' : 'expand',
    transaction: !head.includes('-- no-transaction'),
    text,
  }
}

/** The statements of a file, as they are sent. A file that is one transaction is sent whole. */
export const statementsOf = ({ transaction, text }: MigrationFile): readonly string[] =>
  transaction ? [text] : text.split(/(?<=;)[ \t]*\n/).filter((statement) => !/^(\s|--.*)*$/.test(statement))

/** Names of all numbered files, sorted. */
export async function migrationNames(folder: URL = MIGRATIONS): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.replace(/\.sql$/, '')).toSorted()
}

/** Reads all numbered files, sorted by name. @param folder that contains them */
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
  ofThisRelease ??= Promise.all([migrationNames(), readFunctionFiles()]).then(([numbered, functions]) => [
    ...numbered,
    ...functions.map(({ name }) => name),
  ])
  return ofThisRelease
}
