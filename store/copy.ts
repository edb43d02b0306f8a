/** COPY: the fastest way of many rows into PostgreSQL. */

import { finished } from 'node:stream/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { TenantTx } from './tenancy.ts'

/** Rows in COPY's text format, in place of a statement's only parameter. */
class CopyText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A client that sends a statement with {@link CopyText} as COPY, on the connection of its transaction. */
export class CopyingClient extends pg.Client {
  // `query` has a dozen overloads; all but ours are handed on as they are.
  // biome-ignore-start lint/suspicious/noExplicitAny: see above
  // oxlint-disable typescript/no-explicit-any
  override query(statement: any, values?: any, callback?: any): any {
    if (!Array.isArray(values) || !(values[0] instanceof CopyText)) return super.query(statement, values, callback)
    const stream = super.query(copyFrom(statement.replace(/ \$1$/, '')))
    stream.end(values[0].text)
    return finished(stream).then(() => ({ command: 'COPY', rowCount: null, rows: [] }))
  }
  // oxlint-enable typescript/no-explicit-any
  // biome-ignore-end lint/suspicious/noExplicitAny: see above
}

/**
 * Copies rows into a table.
 *
 * @param lines made by {@link copyLine}, one a row
 */
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
