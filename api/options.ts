/** The options of the routes. */

import type { WorkflowClient } from '../adapters/temporal/client.ts'
import type { EndpointOptions } from '../domain/channels/channel.ts'
import type { WorkflowOptions } from '../domain/temporal/start.ts'
import type { EsimOptions } from '../service/orders/complete-order.ts'
import type { ReadRules } from '../service/rules/rules-in-force.ts'
import type { TicketQuota } from '../service/tickets/open-ticket.ts'
import type { UsageOptions } from '../service/usage/count-usage.ts'
import type { Store } from '../store/tenancy.ts'
import type { Callers } from './keys/callers.ts'
import type { KeyCache } from './keys/key-cache.ts'

/** Options of the public routes. */
export interface RouteOptions {
  readonly store: Store
  /** Keys that the process knows; left out: the database is asked each time. */
  readonly keys?: KeyCache
  /** Callers within this process, who send no key; left out: there are none. */
  readonly callers?: Callers
  /** Most open tickets a tenant may have; left out: any number. */
  readonly ticketQuota?: TicketQuota
  /** Whether mails have links that lead here. */
  readonly hasMailLinks?: boolean
  /** Address of the console as browsers see it, without a trailing slash. Empty, or left out: not known. */
  readonly consoleUrl?: string
}
/** Options of the internal routes. */
export interface InternalOptions extends RouteOptions {
  /** Billing cycle of a new tenant that names none, as an ISO 8601 duration. */
  readonly billingCycle: string
  /** Currency of a new tenant that names none: ISO 4217. */
  readonly currency: string
  /** The rules in force: the same reader for all routes of the process. */
  readonly rules: ReadRules
  readonly workflowClient: WorkflowClient
  /** Address of the page with a workflow's history; null if there is no such page. */
  readonly historyUrl?: ((run: { readonly workflowId: string; readonly runId: string }) => string) | null
  /** Goes into the inputs of workflows. */
  readonly workflowOptions: WorkflowOptions
  /** How usage is taken in; left out: the defaults. */
  readonly usage?: UsageOptions
  /** Where eSIM profiles come from. */
  readonly esim: EsimOptions
  /** How endpoints are kept, and where they may be; left out: no key for secrets, public addresses only. */
  readonly endpoints?: EndpointOptions
}
