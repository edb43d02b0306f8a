/** What routes are given. */
import type { EsimOptions } from '../operations/orders/esim-profiles.ts'
import type { TicketQuota } from '../operations/tickets/quota.ts'
import type { UsageOptions } from '../operations/usage/record-usage.ts'
import type { WorkflowOptions } from '../operations/workflows/inputs.ts'
import type { WorkflowClient } from '../queues/temporal/client.ts'
import type { Store } from '../store/tenancy.ts'

/** What the routes of the service document work with. */
export interface RouteOptions {
  readonly store: Store
  /** Tickets that a tenant may have open; left out: any number. */
  readonly ticketQuota?: TicketQuota
}
/** What the internal routes work with. */
export interface InternalOptions extends RouteOptions {
  /** Billing cycle of new tenants that name none. */
  readonly billingCycle: string
  readonly workflowClient: WorkflowClient
  /** Where a workflow's history is shown; null where there is no such page. */
  readonly historyUrl?: ((run: { readonly workflowId: string; readonly runId: string }) => string) | null
  /** Goes into the inputs of workflows. */
  readonly workflowOptions: WorkflowOptions
  /** How usage is taken in; left out: as without settings. */
  readonly usage?: UsageOptions
  /** Where eSIM profiles come from. */
  readonly esim: EsimOptions
}
