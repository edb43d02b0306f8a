/**
 * Receives notifications of the database (LISTEN) on a separate connection. The connection has to reach PostgreSQL
 * directly, or a pooler that keeps a session: notifications are lost between transactions of several clients.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'

export interface Listening {
  /** Whether every notification sent until {@link BEAT_MS} ago, twice, was received. */
  readonly isOn: () => boolean
  readonly close: () => Promise<void>
}

export interface ListenOptions {
  readonly channel: string
  /** The function of the database that sends the notifications. A schema without it sends none. */
  readonly sender: string
  /** A notification with this text. */
  readonly onNotice: (text: string) => void
  /** Called when listening begins: notifications before this moment may be missing. */
  readonly onBegin: () => void
  /** Called for each lost connection. It is opened again automatically. */
  readonly onError?: (error: Error) => void
  /** How often the connection is tried, in milliseconds. Default: {@link BEAT_MS}. */
  readonly beatMs?: number
}

/** 5 s. A cut connection usually fails at once. The next beat finds a silently dead one. */
const BEAT_MS = 5000
/** Pause before a lost connection is opened again. */
const PAUSE_MS = 1000
/** Longest wait for the end of a connection. A dead one never reports its end. */
const FAREWELL_MS = 1000

/** Listens until it is closed, over any number of lost connections. */
export function listen(databaseUrl: string, options: ListenOptions): Listening {
  const { beatMs = BEAT_MS } = options
  let heardAt = Number.NEGATIVE_INFINITY
  let closed = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const again = (work: () => Promise<void>, ms: number) => {
    if (!closed) timer = setTimeout(() => void work(), ms)
  }
  const begin = async () => {
    const session = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'simherd listens',
      connectionTimeoutMillis: 2 * beatMs,
      query_timeout: beatMs,
      keepAlive: true,
    })
    client = session
    let lost = false
    const lose = (error: Error) => {
      if (lost) return
      lost = true
      clearTimeout(timer)
      heardAt = Number.NEGATIVE_INFINITY
      void session.end().catch(() => undefined)
      if (closed) return
      options.onError?.(error)
      again(begin, PAUSE_MS)
    }
    /** Sends itself a notification: its return shows that the session still listens. */
    const mark = `beat ${randomUUID()}`
    let marks = 0
    const beat = async () => {
      const before = marks
      const sentAt = performance.now()
      await session.query('select pg_notify($1, $2)', [options.channel, mark])
      if (marks === before) throw new Error(`notifications do not arrive: ${POOLER}`)
      heardAt = sentAt
      again(() => beat().catch(lose), beatMs)
    }
    session.on('error', lose)
    session.on('end', () => lose(new Error('the connection that listens has ended')))
    session.on('notification', ({ payload = '' }) => {
      if (payload === mark) marks += 1
      else if (!payload.startsWith('beat ')) options.onNotice(payload)
    })
    try {
      await session.connect()
      await session.query('select $1::text::regproc', [options.sender])
      await session.query(`listen ${pg.escapeIdentifier(options.channel)}`)
      if (!lost) options.onBegin()
      await beat()
    } catch (error) {
      lose(error instanceof Error ? error : new Error(String(error)))
    }
  }
  void begin()
  return {
    isOn: () => performance.now() - heardAt < 2 * beatMs,
    close: async () => {
      closed = true
      clearTimeout(timer)
      heardAt = Number.NEGATIVE_INFINITY
      const ended = client?.end().catch(() => undefined)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, FAREWELL_MS).unref())])
    },
  }
}

const POOLER = 'DATABASE_URL has to reach PostgreSQL itself, or a pooler that keeps sessions'
