/**
 * The rows of the service document that each need a test. A test names its rows at the beginning of its title:
 * `4.2 GET /api/pools: …`, or `4.3 GET /api/sims/{id} + 4.3 GET /api/sims/{iccid}: …` for several rows.
 * `npm run generate` writes docs/specification-tests.md from these and the titles, and fails on a row without a test.
 */

export interface Section {
  readonly title: string
  /** Section and name of a row, as in the document, and what it requires in our own words. */
  readonly rows: Readonly<Record<string, string>>
}

export const SECTIONS: readonly Section[] = [
  {
    title: '2 Resources',
    rows: {
      '2.1 Pagination envelope': 'the envelope of every page',
      '2.2 Watchdog log entry': 'its fields, their types, the level codes',
      '2.3 Pool': 'its fields, their types, the status and type codes, the summary of its tariff',
      '2.4 SIM': 'its fields, their types, the type and status codes, the tariff that governs it',
      '2.5 Ticket': 'its fields, their types, the codes, the additional fields of provisioning tickets',
      '2.6 Order': 'its fields, their types, the type codes, the status as a word',
      '2.7 Tenant': 'its fields, their types',
      '2.8 Tariff': 'its fields, their types, the block of each of the three types',
      '2.9 Event': 'its fields, their types, the codes',
    },
  },
  {
    title: '3 Transitions',
    rows: {
      '3 Order Pending': 'only a pending order can be cancelled',
      '3 Ticket Pending': 'only a pending ticket can be cancelled',
      '3 queue-unprovision': 'the SIM is marked to leave its pool at the end of the month',
      '3 queue-reprovision': 'the SIM is marked for another pool or tariff at the end of the month',
    },
  },
  {
    title: '4.1 Watchdog',
    rows: {
      '4.1 GET /api/watchdog/logs': 'pages of the log of the estate, by SIM, pool, words, date and level',
      '4.1 GET /api/watchdog/metadata': 'labels of levels and modes',
    },
  },
  {
    title: '4.2 Pools',
    rows: {
      '4.2 GET /api/pools': 'pages of pools',
      '4.2 POST /api/pools': 'creates a pool',
      '4.2 GET /api/pools/{id}': 'one pool',
      '4.2 PUT /api/pools/{id}': 'replaces name and watchdog settings',
      '4.2 DELETE /api/pools/{id}': 'deletes a pool for good',
      '4.2 GET /api/pools/{id}/sims': 'summaries of its SIMs',
      '4.2 GET /api/pools/{id}/watchdog-logs': 'pages of its log, by words, date and level',
      '4.2 GET /api/pools/metadata': 'labels of statuses and types',
    },
  },
  {
    title: '4.3 SIMs',
    rows: {
      '4.3 GET /api/sims': 'pages of SIMs, by words, status and pool',
      '4.3 GET /api/sims/{id}': 'one SIM by its number',
      '4.3 GET /api/sims/{iccid}': 'one SIM by its ICCID',
      '4.3 PATCH /api/sims/{id}/tag': 'labels a SIM',
      '4.3 POST /api/sims/{id}/queue-unprovision': 'queues its unassignment',
      '4.3 POST /api/sims/{id}/queue-reprovision': 'queues another pool, tariff or both',
      '4.3 GET /api/sims/{id}/watchdog-logs': 'pages of its log, by words, date and level',
      '4.3 GET /api/sims/metadata': 'labels of types and statuses',
    },
  },
  {
    title: '4.4 Tickets',
    rows: {
      '4.4 GET /api/tickets': 'all tickets, unpaged',
      '4.4 GET /api/tickets/{id}': 'one ticket',
      '4.4 DELETE /api/tickets/{id}': 'cancels a pending ticket',
      '4.4 POST /api/tickets/activate': 'activates a suspended SIM',
      '4.4 POST /api/tickets/suspend': 'suspends an active SIM',
      '4.4 POST /api/tickets/refresh': 'has a SIM reconnect',
      '4.4 POST /api/tickets/send-sms': 'sends a SIM a message',
      '4.4 POST /api/tickets/provision': 'provisions an unassigned SIM',
      '4.4 GET /api/tickets/metadata': 'labels of types and statuses',
    },
  },
  {
    title: '4.5 Orders',
    rows: {
      '4.5 GET /api/orders': 'pages of orders, by words, type, status and date',
      '4.5 POST /api/orders': 'orders SIMs',
      '4.5 GET /api/orders/{orderId}': 'one order',
      '4.5 DELETE /api/orders/{orderId}': 'cancels a pending order',
      '4.5 GET /api/orders/pricing': 'the price of each type that can be ordered',
      '4.5 GET /api/orders/metadata': 'labels of types, under `types`',
    },
  },
  {
    title: '4.6 Tenant',
    rows: {
      '4.6 GET /api/tenant': 'the caller’s tenant',
      '4.6 PATCH /api/tenant/name': 'renames it',
      '4.6 PATCH /api/tenant/billing-email': 'changes the address of its mails',
    },
  },
  {
    title: '4.7 Tariffs',
    rows: {
      '4.7 GET /api/tariffs': 'the tariffs the tenant is offered',
      '4.7 GET /api/tariffs/{id}': 'one tariff',
      '4.7 GET /api/tariffs/metadata': 'labels of types',
    },
  },
  {
    title: '4.8 Events',
    rows: {
      '4.8 GET /api/events': 'pages of events, by words, date, severity and type',
      '4.8 GET /api/events/{id}': 'one event',
      '4.8 GET /api/events/metadata': 'labels of types and, under `severty`, severities',
    },
  },
  {
    title: '8 Limits',
    rows: {
      '8 pageSize on pools, SIMs, watchdog logs, events': '1 to 100, by default 100',
      '8 page': 'by default 1',
      '8 pageSize on orders': 'by default 10',
      '8 Pool name on update': '3 to 50 characters, required',
      '8 warningThresholdPct': '1 to 100',
      '8 SIM tag': 'at most 128 characters',
      '8 Tenant name': '2 to 100 characters, required',
      '8 Billing email': 'an e-mail address',
    },
  },
]
