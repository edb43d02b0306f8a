/** A connection that keeps the plans of marked statements (kept.ts). */
import { CopyingClient } from './copy.ts'
import { MARK } from './kept.ts'

/** Names by text, the same on all connections. There are as many as marked statements have versions. */
const names = new Map<string, string>()

function nameOf(text: string): string {
  const name = names.get(text) ?? `kept_${names.size}`
  names.set(text, name)
  return name
}

/** A client that prepares marked statements, once it knows that its session is its own. */
export class KeepingClient extends CopyingClient {
  #keeps = false

  /**
   * Finds out whether PostgreSQL itself is at the other end. A pooler that gives a session to several clients in turn
   * would lose prepared statements. It has no session yet when a client connects, and names a process of its own.
   */
  async askWhetherToKeep(): Promise<void> {
    const { rows } = await this.query('select pg_backend_pid() as pid')
    this.#keeps = 'processID' in this && this.processID === rows[0]?.pid
  }

  // `query` has a dozen overloads; all but ours are handed on as they are.
  // biome-ignore-start lint/suspicious/noExplicitAny: see above
  // oxlint-disable typescript/no-explicit-any
  override query(statement: any, values?: any, callback?: any): any {
    if (!this.#keeps || typeof statement !== 'string' || !statement.startsWith(MARK)) {
      return super.query(statement, values, callback)
    }
    return super.query({ name: nameOf(statement), text: statement, values })
  }
  // oxlint-enable typescript/no-explicit-any
  // biome-ignore-end lint/suspicious/noExplicitAny: see above
}
