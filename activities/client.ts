/** The service's REST interfaces, as activities call them: for one tenant, with the operator key. */
import { activityInfo, Context, cancellationSignal } from '@temporalio/activity'
import createClient, { type Client } from 'openapi-fetch'
import type { paths as InternalPaths } from '../client/internal.d.ts'
import type { paths as PublicPaths } from '../client/public.d.ts'
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
  readonly api: Client<PublicPaths>
  readonly internal: Client<InternalPaths>
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
      api: createClient<PublicPaths>({ baseUrl: serviceUrl, headers, fetch }),
      internal: createClient<InternalPaths>({ baseUrl: internalUrl, headers, fetch }),
    }
  }
}

interface FetchResult<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/**
 * The body of a successful answer.
 *
 * @throws ApplicationFailure of the problem's code; retried where domain/errors.ts or the status says so
 */
export async function bodyOf<T>(request: Promise<FetchResult<T>>): Promise<T> {
  const { data, error, response } = await request
  if (!response.ok || data === undefined) throw failureOfResponse(response, error)
  return data
}

/** Header of a POST that may be sent more than once. */
export const idempotent = (key: string) => ({ header: { 'Idempotency-Key': key } })
