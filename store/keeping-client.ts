/**
 * A connection that keeps the plans of marked statements (kept.ts), sends COPY (copy.ts), saves round trips, and gives
 * up on a server that does not answer.
 *
 * A transaction begins without waiting: its `begin`, the statements marked as ahead (kept.ts) and the first statement
 * after them leave as one packet. The first error of any of them is that statement's. So do later statements marked so,
 * with the statement or the commit after them. The commit of a reading transaction is not waited for either: its rows are
 * read by then.
 *
 * PostgreSQL ends statements that take too long (tenancy.ts). A frozen server, or a network that drops packets, ends
 * none. So each statement has a limit here too, above the server's.
 */
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { AS_BYTES, CopyOut, CopyText } from './copy.ts'
import { AHEAD_MARK, MARK, PATIENT_MARK } from './kept.ts'

const BEGIN = /^(begin|start transaction)/i
const BEGIN_READING = 'start transaction isolation level repeatable read read only'

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
  #isReading = false
  #givenUp: NoAnswerError | undefined
  /** The statements sent ahead of the next one. */
  #ahead: Promise<unknown> | undefined
  declare pipeline: boolean

  constructor(config: KeepingConfig = {}) {
    super({ ...config, pipeline: true })
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
    if (this.#givenUp !== undefined) return Promise.reject(this.#givenUp)
    const isBegin = BEGIN.test(statement)
    if (isBegin) {
      this.#isPatient = false
      this.#isReading = statement === BEGIN_READING
    }
    if (statement.includes(PATIENT_MARK)) this.#isPatient = true
    const [first] = Array.isArray(values) ? values : []
    if (first === AS_BYTES || first instanceof CopyText) return this.#answerOf(this.#copy(statement, first))
    if (isBegin || statement.includes(AHEAD_MARK)) return this.#sendAhead(statement, values)
    const asked = this.#send(statement, values, callback)
    if (!(asked instanceof Promise)) return asked
    const endsReading = statement === 'commit' && this.#isReading && this.#ahead === undefined
    const answer = this.#answerOf(this.#afterAhead(asked))
    if (!endsReading) return answer
    answer.catch(() => undefined)
    return Promise.resolve({ command: 'COMMIT', rowCount: null, rows: [] })
  }

  #send(statement: string, values: any, callback?: any): any {
    return this.#keeps && statement.includes(MARK)
      ? super.query({ name: nameOf(statement), text: statement, values })
      : super.query(statement, values, callback)
  }

  #sendAhead(statement: string, values: any): Promise<unknown> {
    this.#cork()
    this.#ahead = this.#afterAhead(this.#send(statement, values))
    this.#ahead.catch(() => undefined)
    return Promise.resolve({ command: '', rowCount: null, rows: [] })
  }

  /** Puts the statements sent without waiting into one packet. */
  #cork(): void {
    const { stream } = this.connection
    if (stream.writableCorked > 0) return
    stream.cork()
    process.nextTick(() => stream.uncork())
  }

  /** The answer to a statement, or the error of one sent ahead of it: PostgreSQL then refuses all others. */
  async #afterAhead<T>(asked: Promise<T>): Promise<T> {
    const ahead = this.#ahead
    this.#ahead = undefined
    asked.catch(() => undefined)
    await ahead
    return asked
  }

  /** The driver refuses COPY in a pipeline. */
  async #copy(statement: string, first: typeof AS_BYTES | CopyText): Promise<unknown> {
    await this.#afterAhead(Promise.resolve())
    const copy = statement.replace(/ \$1$/, '')
    this.pipeline = false
    try {
      if (first === AS_BYTES) return await super.query(new CopyOut(copy)).done
      const stream = super.query(copyFrom(copy))
      stream.end(first.text)
      await finished(stream)
      return { command: 'COPY', rowCount: null, rows: [] }
    } finally {
      this.pipeline = true
    }
  }
  // oxlint-enable typescript/no-explicit-any
  // biome-ignore-end lint/suspicious/noExplicitAny: see above

  /** Ends the connection if the answer does not come: all later statements wait behind this one. */
  async #answerOf<T>(asked: Promise<T>): Promise<T> {
    if (this.#answerMs === 0) return asked
    const ms = this.#isPatient ? Math.max(PATIENT_MS, this.#answerMs) : this.#answerMs
    const giveUp = () => {
      this.#givenUp = new NoAnswerError(`PostgreSQL did not answer within ${ms / 1000} s`)
      // While a statement is under way the driver ends the connection without a word to the server, but would wait for a
      // pipeline.
      this.pipeline = false
      this.end().catch(() => undefined)
    }
    const timer = setTimeout(giveUp, ms)
    try {
      return await asked
    } catch (error) {
      throw this.#givenUp ?? error
    } finally {
      clearTimeout(timer)
    }
  }
}
