/** Prints the watchdog's new log entries during the month. */

import type { PublicClient } from '../../adapters/rest/client.ts'
import { LogLevel, labelOf } from '../../domain/codes.ts'
import { counted } from '../../domain/quantity.ts'
import type { Reporter } from '../reporter.ts'
import { responseOf } from '../service.ts'

/** More at once would scroll away unread. Further entries are only counted. */
const MOST_AT_ONCE = 4

/** @returns a function that prints the entries since its last call */
export async function newsOf(api: PublicClient, reporter: Reporter): Promise<() => Promise<void>> {
  const look = () => responseOf(api.GET('/api/watchdog/logs', { params: { query: { page: 1, pageSize: 100 } } }))
  let last = (await look()).data[0]?.id ?? 0
  return async () => {
    const { data } = await look()
    const fresh = data.filter(({ id }) => id > last)
    last = Math.max(last, ...fresh.map(({ id }) => id))
    const told = fresh.toSorted((a, b) => b.level - a.level || a.id - b.id).slice(0, MOST_AT_ONCE)
    for (const { level, message } of told) reporter.say(`  ${labelOf(LogLevel, level).padEnd(8)} ${message}`)
    if (fresh.length > told.length)
      reporter.say(`           and ${counted(fresh.length - told.length, 'more log entry', 'more log entries')}`)
  }
}
