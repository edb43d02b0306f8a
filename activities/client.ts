/** The service's REST interfaces, as activities call them: for one tenant, with the operator key. */
import { activityInfo, Context, cancellationSignal } from '@temporalio/activity'
import * as client from '../client/client.ts'
import { failureOfConnection, failureOfResponse } from './failures.ts'
import { fixedKey, type ServiceKey, sendWithKey } from './service-key.ts'

export interface ServiceAddress {
  /** Where the specification's operations are, without a trailing slash. */
  readonly serviceUrl: string
  /** Where the internal interface is. */
  readonly internalUrl: string
  /** Operator key: one that stays, or one that may be rotated. */
  readonly key: string | ServiceKey
}

export interface ServiceClient {
  readonly api: client.PublicClient
  readonly internal: client.InternalClient
}

/**
 * How long a request may take, in milliseconds: a third of the activity's time, so that a lost one is asked
 * again within it; 10 s where the activity has to be heard of in between.
 */
function requestTimeoutMs(): number {
  const { heartbeatTimeoutMs, startToCloseTimeoutMs } = activityInfo()
  return heartbeatTimeoutMs === undefined ? startToCloseTimeoutMs / 3 : 10_000
}

/**
 * Fetch that ends with the activity: a cancelled one throws its cancellation, a service that is away
 * an `unavailable` failure, which is retried.
 */
async function fetchInActivity(key: ServiceKey, request: Request): Promise<Response> {
  const cancelled = cancellationSignal()
  const { workflowExecution } = activityInfo()
  // Who asks: the service keeps it with the ticket, and with the change in its audit trail.
  if (workflowExecution !== undefined) request.headers.set('simherd-workflow', encodeURI(workflowExecution.workflowId))
  try {
    return await sendWithKey(key, request, AbortSignal.any([cancelled, AbortSignal.timeout(requestTimeoutMs())]))
  } catch (error) {
    if (cancelled.aborted) await Context.current().cancelled
    throw failureOfConnection(request.url, error)
  }
}

/** A client for each tenant; clients hold no connection of their own. */
export function serviceClients({ serviceUrl, internalUrl, key }: ServiceAddress): (tenantId: string) => ServiceClient {
  const asked = typeof key === 'string' ? fixedKey(key) : key
  const fetch = (request: Request) => fetchInActivity(asked, request)
  return (tenantId) => {
    const headers = { 'x-tenant-id': tenantId }
    return {
      api: client.publicClient({ baseUrl: serviceUrl, headers, fetch }),
      internal: client.internalClient({ baseUrl: internalUrl, headers, fetch }),
    }
  }
}

/**
 * The body of a successful answer.
 *
 * @throws ApplicationFailure of the problem's code; retried where domain/errors.ts or the status says so
 */
export const bodyOf = <T>(request: Promise<client.FetchResult<T>>): Promise<T> =>
  client.bodyOf(request, failureOfResponse)
