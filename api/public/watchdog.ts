import {
  WatchdogLogEntry,
  WatchdogLogQuery,
  WatchdogMetadata,
  watchdogMetadata,
} from '../../domain/alerts/watchdog-log-entry.ts'
import { pageOf } from '../../domain/page.ts'
import { pageOfLog } from '../../service/alerts/rows/log.ts'
import { publicRoutes } from '../http/declare-routes.ts'

const route = publicRoutes('Watchdog')

export const watchdogRoutes = [
  route('GET', '/watchdog/logs', {
    operationId: 'listWatchdogLogs',
    summary: 'Watchdog log entries of the whole estate',
    description:
      'Newest first; entries match every given filter. `simId` and `poolId` are null if an entry has no SIM or pool.',
    query: WatchdogLogQuery,
    response: { 200: pageOf(WatchdogLogEntry) },
    cursor: 'log',
    walk: (tx, { query }) => pageOfLog(tx, query),
  }),
  route('GET', '/watchdog/metadata', {
    operationId: 'getWatchdogMetadata',
    summary: 'Labels of log levels and watchdog modes',
    description: 'The codes of `level` and `watchdogMode`, each with its label.',
    response: { 200: WatchdogMetadata },
    handle: async () => watchdogMetadata,
  }),
]
