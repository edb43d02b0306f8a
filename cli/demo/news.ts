/** What the watchdog writes while the month goes by, told as it comes. */
import { type Static, Type } from 'typebox'
import { LogLevel, labelOf } from '../../domain/codes.ts'
import type { Tell } from '../start/tell.ts'
import type { Caller } from './caller.ts'

const Entry = Type.Object({
  id: Type.Integer(),
  level: Type.Enum(LogLevel),
  message: Type.String(),
})
const Page = Type.Object({ data: Type.Array(Entry), pagination: Type.Object({ totalItems: Type.Integer() }) })

/** More at once would scroll away unread; the rest is counted. */
const MOST_AT_ONCE = 4

/** @returns tells the entries that are new since it was called last */
export async function newsOf(api: Caller, tell: Tell): Promise<() => Promise<void>> {
  const look = () => api.get('/api/watchdog/logs?page=1&pageSize=100', Page)
  let last = (await look()).data[0]?.id ?? 0
  return async () => {
    const { data } = await look()
    const fresh = data.filter(({ id }) => id > last)
    last = Math.max(last, ...fresh.map(({ id }) => id))
    const weight = (entry: Static<typeof Entry>) => entry.level
    const told = fresh.toSorted((a, b) => weight(b) - weight(a) || a.id - b.id).slice(0, MOST_AT_ONCE)
    for (const { level, message } of told) tell.say(`  ${labelOf(LogLevel, level).padEnd(8)} ${message}`)
    if (fresh.length > told.length) tell.say(`           and ${fresh.length - told.length} more log entries`)
  }
}
