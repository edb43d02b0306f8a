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
 */
import { readdir, readFile } from 'node:fs/promises'

const MIGRATIONS = new URL('migrations/', import.meta.url)

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

/** Names of all files, in their order. */
export async function migrationNames(folder: URL = MIGRATIONS): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.replace(/\.sql$/, '')).toSorted()
}

/** All files, in their order. @param folder of the files */
export async function readMigrationFiles(folder: URL = MIGRATIONS): Promise<MigrationFile[]> {
  const names = await migrationNames(folder)
  return Promise.all(
    names.map(async (name) => migrationFile(name, await readFile(new URL(`${name}.sql`, folder), 'utf8'))),
  )
}
