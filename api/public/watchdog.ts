import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  WatchdogLogEntry,
  WatchdogLogQuery,
  WatchdogMetadata,
  watchdogMetadata,
} from '../../domain/alerts/log-entry.ts'
import { pageOf } from '../../domain/page.ts'
import { pageOfLog } from '../../service/alerts/rows/log.ts'
import { inTenant, reading } from '../../store/tenancy.ts'
import { linked, takesCursor } from '../http/links.ts'
import type { RouteOptions } from '../options.ts'

export const watchdogRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['Watchdog']

  app.get(
    '/watchdog/logs',
    {
      schema: {
        operationId: 'listWatchdogLogs',
        summary: 'Watchdog log entries across the estate',
        description:
          'Newest first; all filters that are given hold. `simId` or `poolId` is null where an entry is not of ' +
          'one.',
        tags,
        querystring: WatchdogLogQuery,
        response: { 200: pageOf(WatchdogLogEntry) },
      },
      preValidation: takesCursor('log'),
    },
    async (request, reply) =>
      linked(request, reply, await inTenant(reading(store), request.tenantId, (tx) => pageOfLog(tx, request.query))),
  )

  app.get(
    '/watchdog/metadata',
    {
      schema: {
        operationId: 'getWatchdogMetadata',
        summary: 'Labels of log levels and watchdog modes',
        description: 'The codes of `level` and `watchdogMode`, each with its label.',
        tags,
        response: { 200: WatchdogMetadata },
      },
    },
    async () => watchdogMetadata,
  )
}
