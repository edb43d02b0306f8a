import pg from 'pg'
import { onTestFinished, vi } from 'vitest'

interface SentStatement {
  readonly text: string
  readonly values: unknown[]
}

/** The statements that `work` sends to the database, with those that begin and end transactions. */
export async function statementsIn(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  await work()
  const sent = query.mock.calls.map(([first, given]: readonly unknown[]) => {
    const values = typeof first === 'object' && first !== null && 'values' in first ? first.values : given
    return { text: textOf(first), values: Array.isArray(values) ? values : [] }
  })
  query.mockRestore()
  return sent
}

/** Statements that begin and end transactions, and those that find a key: a process remembers keys, but not in tests. */
const AROUND =
  /^(\W|ahead|kept|patient)*(begin|commit|start transaction|select (set_config|pg_backend_pid))|secret_hash as|select 1 from tenants/

/** As {@link statementsIn}, without the statements around those of a request itself. */
export const ownStatementsIn = async (work: () => Promise<unknown>): Promise<SentStatement[]> =>
  (await statementsIn(work)).filter(({ text }) => !AROUND.test(text))

const textOf = (query: unknown): string =>
  typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : String(query)
