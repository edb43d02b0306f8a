/**
 * A connection that keeps the plans of marked statements (kept.ts), sends COPY (copy.ts), and gives up on a server that
 * does not answer.
 *
 * PostgreSQL ends statements that take too long (tenancy.ts). A frozen server, or a network that drops packets, ends
 * none. So each statement has a limit here too, above the server's.
 */
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { AS_BYTES, CopyOut, CopyText } from './copy.ts'
import { MARK, PATIENT_MARK } from './kept.ts'

/** Five seconds above the statement timeouts of tenancy.ts. */
const ANSWER_MS = 35_000
const PATIENT_MS = 305_000

/** Names by text, the same on all connections. There are as many as marked statements have versions. */
const names = new Map<string, string>()

function nameOf(text: string): string {
  const name = names.get(text) ?? `kept_${names.size}`
  names.set(text, name)
  return name
}

class NoAnswerError extends Error {
  readonly code = 'ETIMEDOUT'
}

export interface KeepingConfig extends pg.ClientConfig {
  /** How long a statement may take, in milliseconds; 0: for ever. Default: 35 s, and 305 s in patient transactions. */
  readonly answerMs?: number
}

/** A client that prepares marked statements, once its session is known to be its own. */
export class KeepingClient extends pg.Client {
  #keeps = false
  readonly #answerMs: number
  #isPatient = false

  constructor(config: KeepingConfig = {}) {
    super(config)
    this.#answerMs = config.answerMs ?? ANSWER_MS
  }

  /**
   * Finds out whether PostgreSQL itself is at the other end. A pooler that gives a session to several clients in turn
   * would lose prepared statements. It has no session yet when a client connects, and names a process of its own.
   */
  async askWhetherToKeep(): Promise<void> {
    const { rows } = await this.query('select pg_backend_pid() as pid')
    this.#keeps = 'processID' in this && this.processID === rows[0]?.pid
  }

  // `query` has a dozen overloads; all but ours are passed on unchanged.
  // biome-ignore-start lint/suspicious/noExplicitAny: see above
  // oxlint-disable typescript/no-explicit-any
  override query(statement: any, values?: any, callback?: any): any {
    if (typeof statement !== 'string') return super.query(statement, values, callback)
    if (/^(begin|start transaction)/i.test(statement)) this.#isPatient = false
    if (statement.includes(PATIENT_MARK)) this.#isPatient = true
    const asked = this.#send(statement, values, callback)
    return asked instanceof Promise ? this.#answerOf(asked) : asked
  }

  #send(statement: string, values: any, callback: any): any {
    const [first] = Array.isArray(values) ? values : []
    const isCopy = first === AS_BYTES || first instanceof CopyText
    if (!isCopy && this.#keeps && statement.includes(MARK)) {
      return super.query({ name: nameOf(statement), text: statement, values })
    }
    if (!isCopy) return super.query(statement, values, callback)
    const copy = statement.replace(/ \$1$/, '')
    if (first === AS_BYTES) return super.query(new CopyOut(copy)).done
    const stream = super.query(copyFrom(copy))
    stream.end(first.text)
    return finished(stream).then(() => ({ command: 'COPY', rowCount: null, rows: [] }))
  }
  // oxlint-enable typescript/no-explicit-any
  // biome-ignore-end lint/suspicious/noExplicitAny: see above

  /** Ends the connection if the answer does not come: all later statements wait behind this one. */
  async #answerOf<T>(asked: Promise<T>): Promise<T> {
    if (this.#answerMs === 0) return asked
    const ms = this.#isPatient ? Math.max(PATIENT_MS, this.#answerMs) : this.#answerMs
    let isGivenUp = false
    const giveUp = () => {
      isGivenUp = true
      // While a statement is under way the driver ends the connection without a word to the server.
      this.end().catch(() => undefined)
    }
    const timer = setTimeout(giveUp, ms)
    try {
      return await asked
    } catch (error) {
      throw isGivenUp ? new NoAnswerError(`PostgreSQL did not answer within ${ms / 1000} s`, { cause: error }) : error
    } finally {
      clearTimeout(timer)
    }
  }
}
