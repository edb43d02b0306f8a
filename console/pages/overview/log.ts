/** Entries of the log for the overview. Pure. */
import type { WatchdogLogEntry } from '../../../domain/alerts/watchdog-log-entry.ts'

interface LogLine {
  /** The newest of equal entries. */
  readonly entry: WatchdogLogEntry
  readonly times: number
}

/** Equal entries become one, at the place of the newest. @param entries newest first */
export function linesOf(entries: readonly WatchdogLogEntry[]): LogLine[] {
  const lines = new Map<string, LogLine>()
  for (const entry of entries) {
    const key = JSON.stringify([entry.level, entry.simId, entry.poolId, entry.message])
    const before = lines.get(key)
    lines.set(key, { entry: before?.entry ?? entry, times: (before?.times ?? 0) + 1 })
  }
  return [...lines.values()]
}
