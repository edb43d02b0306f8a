/** Watches the transactions of a database from a separate connection, and keeps the longest one. */
import pg from 'pg'
import { everyMs } from './measure.ts'

const LOOK_MS = 10

export interface Transaction {
  readonly ms: number
  /** The statement that most of the looks have met, or that the transaction idled after. */
  readonly statement: string
}

/** A transaction that goes on. */
interface Met {
  ms: number
  /** Looks, by statement. */
  readonly looks: Map<string, number>
}

/**
 * Looks at all transactions every 10 ms, so a duration may be up to 10 ms too short.
 *
 * @returns `longest` gives the longest since it was last called
 */
export async function watchTransactions(url: string) {
  const reader = new pg.Client({ connectionString: url, application_name: 'bench' })
  await reader.connect()
  let met = new Map<string, Met>()
  const look = async () => {
    const { rows } = await reader.query<{ pid: number; since: string; ms: number; statement: string }>({
      name: 'look',
      text: `
        select pid, xact_start::text as since, state || ': ' || query as statement,
               (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as ms
          from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
           and xact_start is not null and state <> 'idle' and application_name <> 'bench'`,
    })
    for (const { pid, since, ms, statement } of rows) {
      const key = `${pid} ${since}`
      const one = met.get(key) ?? { ms: 0, looks: new Map<string, number>() }
      one.ms = Math.max(one.ms, ms)
      one.looks.set(statement, (one.looks.get(statement) ?? 0) + 1)
      met.set(key, one)
    }
  }
  const stopLooking = everyMs(LOOK_MS, look)
  return {
    longest: (): Transaction => {
      const [first] = [...met.values()].toSorted((a, b) => b.ms - a.ms)
      const [statement] = [...(first?.looks ?? [])].toSorted(([, a], [, b]) => b - a)
      met = new Map()
      return { ms: first?.ms ?? 0, statement: (statement?.[0] ?? '').replaceAll(/\s+/g, ' ').trim() }
    },
    stop: async () => {
      await stopLooking()
      await reader.end()
    },
  }
}
