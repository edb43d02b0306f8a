/** COPY: the fastest way of many rows into PostgreSQL, and out of it. Its statements are sent by keeping-client.ts. */

import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import { CopiedRows } from './copied-rows.ts'
import type { TenantTx } from './tenancy.ts'

/** Rows in COPY's text format, in place of a statement's only parameter. */
export class CopyText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** In place of a statement's only parameter: its rows are to be read in COPY's binary format. */
export const AS_BYTES = Symbol('as bytes')

const BLOCK_BYTES = 1 << 18

/**
 * A statement that the driver sends unchanged. Its rows come as bytes, in blocks filled with as many rows as fit. The
 * streams of pg-copy-streams would copy them once more, and cut them anywhere.
 */
export class CopyOut implements pg.Submittable {
  readonly #text: string
  readonly #full: Buffer[] = []
  #block = Buffer.alloc(0)
  #used = 0
  readonly #answer = Promise.withResolvers<{ command: string; rowCount: null; rows: readonly Buffer[] }>()

  constructor(text: string) {
    this.#text = text
  }

  get done() {
    return this.#answer.promise
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#text)
  }

  /** Takes a row. The driver reads the next ones into the same bytes. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.#used + chunk.length > this.#block.length) {
      this.#endBlock()
      this.#block = Buffer.allocUnsafe(Math.max(BLOCK_BYTES, chunk.length))
    }
    this.#used += chunk.copy(this.#block, this.#used)
  }

  #endBlock(): void {
    if (this.#used > 0) this.#full.push(this.#block.subarray(0, this.#used))
    this.#used = 0
  }

  handleCommandComplete(): void {
    // The rows are whole when the connection is ready again.
  }

  handleReadyForQuery(): void {
    this.#endBlock()
    this.#answer.resolve({ command: 'COPY', rowCount: null, rows: this.#full })
  }

  handleError(error: Error): void {
    this.#answer.reject(error)
  }
}

/** Reads rows without an object for each. COPY takes no parameters: values are literals (`sql.lit`). */
export async function copyOf(tx: TenantTx, query: RawBuilder<unknown>): Promise<CopiedRows> {
  const { rows } = await sql<Buffer>`copy (${query}) to stdout (format binary) ${AS_BYTES}`.execute(tx.q)
  return new CopiedRows(rows)
}

/** Copies rows into a table. @param lines made by {@link copyLine}, one a row */
export async function copyInto(
  tx: TenantTx,
  table: string,
  columns: readonly string[],
  lines: readonly string[],
): Promise<void> {
  const names = sql.join(columns.map((name) => sql.ref(name)))
  await sql`copy ${sql.table(table)} (${names}) from stdin ${new CopyText(lines.join(''))}`.execute(tx.q)
}

const SPECIAL = /[\\\n\r\t]/g
const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A row in COPY's text format. Values are neither dates nor objects. */
export const copyLine = (values: readonly (string | number | boolean | null)[]): string =>
  `${values
    .map((value) =>
      value === null ? '\\N' : typeof value === 'string' ? value.replace(SPECIAL, (c) => ESCAPED[c] ?? c) : value,
    )
    .join('\t')}\n`
