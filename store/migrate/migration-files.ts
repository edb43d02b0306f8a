/**
 * Migration files: `migrations/NNNN_name.sql`. A file's first 10 lines may have options:
 *
 *     -- phase: contract
 *     -- no-transaction
 *
 * Without the first line, the phase is `expand`: processes of the previous release can work with the new schema. A
 * `contract` file removes parts that those processes need, and runs only after they have ended.
 *
 * Without the second line, the file is one transaction. With it, each statement runs separately, as `create index
 * concurrently` requires, and the file must be safe to run again after a failure. In such a file, a semicolon at the
 * end of a line always ends a statement.
 *
 * Functions of the database: `functions/<function>.sql`, one `create or replace function` each, and its grants.
 * Functions needed by tables are in the baseline. The files run after the numbered ones, each whenever its text is new.
 * The database stores the hash of a text. So an earlier release that migrates again leaves a newer text alone. A text
 * changed back to an earlier one needs another comment to run again.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

const MIGRATIONS = new URL('../migrations/', import.meta.url)
const FUNCTIONS = new URL('../functions/', import.meta.url)

export type Phase = 'expand' | 'contract'

export interface MigrationFile {
  /** Name of the migration in the database, such as `0001_baseline`. */
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

/** Splits a file into the statements to send. A file in one transaction is sent whole. */
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

/** The files of the functions. A file's name in the database includes its hash. */
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

/** All files for this release: the numbered ones, then the functions. */
export const readAllFiles = async (): Promise<MigrationFile[]> => [
  ...(await readMigrationFiles()),
  ...(await readFunctionFiles()),
]

let ofThisRelease: Promise<readonly string[]> | undefined
/** Names that a database of this release has stored. Read once a process. */
export const namesOfThisRelease = (): Promise<readonly string[]> => {
  ofThisRelease ??= Promise.all([migrationNames(), readFunctionFiles()]).then(([numbered, functions]) => [
    ...numbered,
    ...functions.map(({ name }) => name),
  ])
  return ofThisRelease
}
