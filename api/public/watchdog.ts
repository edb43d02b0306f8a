import {
  WatchdogLogEntry,
  WatchdogLogQuery,
  WatchdogMetadata,
  watchdogMetadata,
} from '../../domain/alerts/log-entry.ts'
import { pageOf } from '../../domain/page.ts'
import { pageOfLog } from '../../service/alerts/rows/log.ts'
import { declareRoutes } from '../http/declare-routes.ts'
import type { RouteOptions } from '../options.ts'

const route = declareRoutes<RouteOptions>('Watchdog')

export const watchdogRoutes = [
  route('GET', '/watchdog/logs', {
    operationId: 'listWatchdogLogs',
    summary: 'Watchdog log entries across the estate',
    description:
      'Newest first; all filters that are given hold. `simId` or `poolId` is null where an entry is not of one.',
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
