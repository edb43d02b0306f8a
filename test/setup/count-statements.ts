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
  const sent = query.mock.calls.map(([first, values]: readonly unknown[]) => ({
    text: textOf(first),
    values: Array.isArray(values) ? values : [],
  }))
  query.mockRestore()
  return sent
}

/** Statements that begin and end transactions, and those that find a key: a process remembers keys, but not in tests. */
const AROUND =
  /^(\W|ahead|kept|patient)*(begin|commit|start transaction|select (set_config|pg_backend_pid))|secret_hash as|select 1 from tenants/

/** As {@link statementsIn}, without the statements around those of a request itself. */
export const ownStatementsIn = async (work: () => Promise<unknown>): Promise<SentStatement[]> =>
  (await statementsIn(work)).filter(({ text }) => !AROUND.test(text))

/** Counts how often `work` waits for PostgreSQL, as {@link ownStatementsIn}. Statements sent together count once. */
export async function roundTripsIn(work: () => Promise<unknown>): Promise<number> {
  let trips = 0
  let underWay = 0
  // oxlint-disable-next-line typescript/unbound-method -- called with the client it came from
  const original = pg.Client.prototype.query
  const query = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const answer: unknown = Reflect.apply(original, this, args)
    if (AROUND.test(textOf(args[0])) || !(answer instanceof Promise)) return answer
    if (underWay === 0) trips += 1
    underWay += 1
    const end = () => (underWay -= 1)
    answer.then(end, end)
    return answer
  })
  onTestFinished(() => query.mockRestore())
  await work()
  query.mockRestore()
  return trips
}

const textOf = (query: unknown): string =>
  typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : String(query)
