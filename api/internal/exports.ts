/** Every list as a CSV file: the columns of the public objects, the filters of the public lists, all pages in one. */
import { Type } from 'typebox'
import { WatchdogLogEntry, WatchdogLogQuery } from '../../domain/alerts/watchdog-log-entry.ts'
import { Event, EventQuery } from '../../domain/event.ts'
import { filterOf, Order, OrderQuery } from '../../domain/orders/order.ts'
import { Pool } from '../../domain/pools/pool.ts'
import { SimQuery } from '../../domain/sims/sim.ts'
import { Tariff } from '../../domain/tariffs/tariff.ts'
import { Ticket } from '../../domain/tickets/ticket.ts'
import { listLog } from '../../service/alerts/rows/log.ts'
import { listOrders } from '../../service/orders/rows/orders.ts'
import { listPools } from '../../service/pools/rows/pools.ts'
import { listSims } from '../../service/sims/rows/sim-reads.ts'
import { listTariffs } from '../../service/tariffs/rows/tariffs.ts'
import { listTickets } from '../../service/tickets/rows/tickets.ts'
import { listEvents } from '../../store/events.ts'
import { inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import { columnsOf, csvQuery, csvResponse, sendCsv } from '../files/csv.ts'
import { SIM_COLUMNS } from '../files/sim-files.ts'
import { internalRoutes } from '../http/declare-routes.ts'

const PAGE = ['page', 'pageSize', 'cursor'] as const
const csv = csvResponse('CSV; the first line names the columns', 'id,name\r\n1,Household meters\r\n')

/** The tariffs in one page: there are few. */
async function* allTariffs(store: Store, tenantId: string) {
  yield await inTenant(store, tenantId, listTariffs)
}

const route = internalRoutes('Exports')

export const exportRoutes = [
  route('GET', '/exports/sims.csv', {
    operationId: 'exportSims',
    summary: 'SIMs as CSV, by id',
    query: Type.Object({ ...Type.Omit(SimQuery, PAGE).properties, ...csvQuery }),
    ...csv,
    handle: ({ tenantId, query: { spreadsheet = false, ...filter } }, { store, reply }) =>
      sendCsv(reply, 'sims', listSims(readOnly(store), tenantId, filter), { columns: SIM_COLUMNS, spreadsheet }),
  }),
  ...(
    [
      { name: 'Pools', order: 'by id', item: Pool, pagesOf: listPools },
      { name: 'Tariffs', order: 'by id', item: Tariff, pagesOf: allTariffs },
      { name: 'Tickets', order: 'newest first', item: Ticket, pagesOf: listTickets },
    ] as const
  ).map(({ name, order, item, pagesOf }) =>
    route('GET', `/exports/${name.toLowerCase()}.csv`, {
      operationId: `export${name}`,
      summary: `${name} as CSV, ${order}`,
      query: Type.Object(csvQuery),
      ...csv,
      handle: ({ tenantId, query }, { store, reply }) =>
        sendCsv(reply, name.toLowerCase(), pagesOf(readOnly(store), tenantId), { columns: columnsOf(item), ...query }),
    }),
  ),
  route('GET', '/exports/orders.csv', {
    operationId: 'exportOrders',
    summary: 'Orders as CSV, newest first',
    query: Type.Object({ ...Type.Omit(OrderQuery, PAGE).properties, ...csvQuery }),
    ...csv,
    handle: ({ tenantId, query: { spreadsheet = false, ...query } }, { store, reply }) => {
      const pages = listOrders(readOnly(store), tenantId, filterOf(query))
      return sendCsv(reply, 'orders', pages, { columns: columnsOf(Order), spreadsheet })
    },
  }),
  route('GET', '/exports/events.csv', {
    operationId: 'exportEvents',
    summary: 'Events as CSV, newest first',
    query: Type.Object({ ...Type.Omit(EventQuery, PAGE).properties, ...csvQuery }),
    ...csv,
    handle: ({ tenantId, query: { spreadsheet = false, ...filter } }, { store, reply }) =>
      sendCsv(reply, 'events', listEvents(readOnly(store), tenantId, filter), {
        columns: columnsOf(Event),
        spreadsheet,
      }),
  }),
  route('GET', '/exports/watchdog-logs.csv', {
    operationId: 'exportWatchdogLogs',
    summary: 'Watchdog log as CSV, newest first',
    query: Type.Object({ ...Type.Omit(WatchdogLogQuery, PAGE).properties, ...csvQuery }),
    ...csv,
    handle: ({ tenantId, query: { spreadsheet = false, ...filter } }, { store, reply }) => {
      const pages = listLog(readOnly(store), tenantId, filter)
      return sendCsv(reply, 'watchdog-logs', pages, { columns: columnsOf(WatchdogLogEntry), spreadsheet })
    },
  }),
]
