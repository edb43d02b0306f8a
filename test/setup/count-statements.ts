import pg from 'pg'
import { onTestFinished, vi } from 'vitest'

/** The texts of the statements that `work` sends to the database, with those that begin and end transactions. */
export async function statementsIn(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  await work()
  const sent = query.mock.calls.map(([first]: readonly unknown[]) => textOf(first))
  query.mockRestore()
  return sent
}

const textOf = (query: unknown): string =>
  typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : String(query)
