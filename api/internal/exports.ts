/**
 * Every list as a CSV file: the columns of the public objects, the filters of the public lists, all pages in one file.
 */
import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { WatchdogLogEntry, WatchdogLogQuery } from '../../domain/alerts/log-entry.ts'
import { Event, EventQuery } from '../../domain/event.ts'
import { filterOf, Order, OrderQuery } from '../../domain/orders/order.ts'
import { Pool } from '../../domain/pools/pool.ts'
import { SimQuery } from '../../domain/sims/sim.ts'
import { Tariff } from '../../domain/tariffs/tariff.ts'
import { Ticket } from '../../domain/tickets/ticket.ts'
import { listLog } from '../../service/alerts/rows/log.ts'
import { listOrders } from '../../service/orders/rows/orders.ts'
import { listPools } from '../../service/pools/rows/pools.ts'
import { listSims } from '../../service/sims/rows/sims.ts'
import { listTariffs } from '../../service/tariffs/rows/tariffs.ts'
import { listTickets } from '../../service/tickets/rows/tickets.ts'
import { listEvents } from '../../store/events.ts'
import { inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import { columnsOf, csvOf } from '../files/csv.ts'
import { SIM_COLUMNS } from '../files/sim-tables.ts'
import { declareRoutes } from '../http/declare-routes.ts'
import { streamed } from '../http/streaming.ts'
import type { InternalOptions } from '../options.ts'

const spreadsheet = {
  spreadsheet: Type.Optional(
    Type.Boolean({
      description: 'For spreadsheet programs: writes ICCID, IMSI, MSISDN and IMEI as text (`="8944…"`)',
    }),
  ),
}
const plainQuery = Type.Object(spreadsheet)
const PAGE = ['page', 'pageSize', 'cursor'] as const
const simQuery = Type.Object({ ...Type.Omit(SimQuery, PAGE).properties, ...spreadsheet })
const eventQuery = Type.Object({ ...Type.Omit(EventQuery, PAGE).properties, ...spreadsheet })
const logQuery = Type.Object({ ...Type.Omit(WatchdogLogQuery, PAGE).properties, ...spreadsheet })
const orderQuery = Type.Object({ ...Type.Omit(OrderQuery, PAGE).properties, ...spreadsheet })

/** The tariffs in one page: there are few. */
async function* allTariffs(store: Store, tenantId: string) {
  yield await inTenant(store, tenantId, listTariffs)
}

interface Export {
  readonly name: string
  readonly columns: readonly string[]
  readonly pages: AsyncGenerator<readonly object[], void>
}

async function send(reply: FastifyReply, query: { readonly spreadsheet?: boolean }, { name, columns, pages }: Export) {
  const file = await streamed(reply, csvOf(pages, { columns, spreadsheet: query.spreadsheet === true }))
  return reply
    .type('text/csv; charset=utf-8; header=present')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(file)
}

const csv = {
  produces: ['text/csv'],
  response: {
    200: Type.Unsafe<Readable>(
      Type.String({
        description: 'CSV; the first line names the columns',
        examples: ['id,name\r\n1,Household meters\r\n'],
      }),
    ),
  },
}

const route = declareRoutes<InternalOptions>('Exports')

export const exportRoutes = [
  route('GET', '/exports/sims.csv', {
    operationId: 'exportSims',
    summary: 'SIMs as CSV, by id',
    query: simQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, { name: 'sims', columns: SIM_COLUMNS, pages: listSims(readOnly(store), tenantId, query) }),
  }),
  route('GET', '/exports/pools.csv', {
    operationId: 'exportPools',
    summary: 'Pools as CSV, by id',
    query: plainQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, { name: 'pools', columns: columnsOf(Pool), pages: listPools(readOnly(store), tenantId) }),
  }),
  route('GET', '/exports/tariffs.csv', {
    operationId: 'exportTariffs',
    summary: 'Tariffs as CSV, by id',
    query: plainQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, { name: 'tariffs', columns: columnsOf(Tariff), pages: allTariffs(readOnly(store), tenantId) }),
  }),
  route('GET', '/exports/tickets.csv', {
    operationId: 'exportTickets',
    summary: 'Tickets as CSV, newest first',
    query: plainQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, {
        name: 'tickets',
        columns: columnsOf(Ticket),
        pages: listTickets(readOnly(store), tenantId),
      }),
  }),
  route('GET', '/exports/orders.csv', {
    operationId: 'exportOrders',
    summary: 'Orders as CSV, newest first',
    query: orderQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, {
        name: 'orders',
        columns: columnsOf(Order),
        pages: listOrders(readOnly(store), tenantId, filterOf(query)),
      }),
  }),
  route('GET', '/exports/events.csv', {
    operationId: 'exportEvents',
    summary: 'Events as CSV, newest first',
    query: eventQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, {
        name: 'events',
        columns: columnsOf(Event),
        pages: listEvents(readOnly(store), tenantId, query),
      }),
  }),
  route('GET', '/exports/watchdog-logs.csv', {
    operationId: 'exportWatchdogLogs',
    summary: 'Watchdog log as CSV, newest first',
    query: logQuery,
    ...csv,
    handle: ({ tenantId, query }, { store, reply }) =>
      send(reply, query, {
        name: 'watchdog-logs',
        columns: columnsOf(WatchdogLogEntry),
        pages: listLog(readOnly(store), tenantId, query),
      }),
  }),
]
