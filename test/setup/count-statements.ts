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

const textOf = (query: unknown): string =>
  typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : String(query)
