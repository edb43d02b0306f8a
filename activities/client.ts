/** Clients of activities for the service's REST interfaces: for one tenant, with the operator key. */
import { ApplicationFailure, activityInfo, Context, cancellationSignal } from '@temporalio/activity'
import { type Addresses, openAddresses } from '../adapters/rest/addresses.ts'
import * as client from '../adapters/rest/client.ts'
import { failureOfConnection, failureOfResponse } from './failures.ts'
import { fixedKey, type ServiceKey, sendWithKey } from './service-key.ts'

export interface ServiceAddress {
  /** Base URLs of the specification's operations, with commas between them. */
  readonly serviceUrl: string
  /** Base URLs of the internal interface, likewise. */
  readonly internalUrl: string
  /** Operator key: either fixed, or one that may be rotated. */
  readonly key: string | ServiceKey
}

export interface ServiceClient {
  readonly api: client.PublicClient
  readonly internal: client.InternalClient
}

/**
 * How long a request may take, in milliseconds. A third of the activity's time: a lost request fails and is retried
 * before the activity times out. In an activity with heartbeats it is 10 s.
 */
function requestTimeoutMs(): number {
  const { heartbeatTimeoutMs, startToCloseTimeoutMs } = activityInfo()
  return heartbeatTimeoutMs === undefined ? startToCloseTimeoutMs / 3 : 10_000
}

/** A fetch that ends with the activity. @throws ApplicationFailure `unavailable`, retried, if the service is away */
async function fetchInActivity(key: ServiceKey, addresses: Addresses, request: Request): Promise<Response> {
  const cancelled = cancellationSignal()
  const { workflowExecution } = activityInfo()
  // The calling workflow: the service stores it with the ticket, and with the change in its audit trail.
  if (workflowExecution !== undefined) request.headers.set('simherd-workflow', encodeURI(workflowExecution.workflowId))
  try {
    const send = (moved: Request, signal: AbortSignal) => sendWithKey(key, moved, signal)
    return await addresses.send(request, { timeoutMs: requestTimeoutMs(), signal: cancelled, send })
  } catch (error) {
    if (cancelled.aborted) await Context.current().cancelled
    throw failureOfConnection(addresses.names + request.url.slice(addresses.first.length), error)
  }
}

/** Makes a client for a tenant. Clients hold no connection. */
export function serviceClients({ serviceUrl, internalUrl, key }: ServiceAddress): (tenantId: string) => ServiceClient {
  const asked = typeof key === 'string' ? fixedKey(key) : key
  const [outside, inside] = [openAddresses(serviceUrl), openAddresses(internalUrl)]
  const at = (addresses: Addresses, tenantId: string) => ({
    baseUrl: addresses.first,
    headers: { 'x-tenant-id': tenantId },
    fetch: (request: Request) => fetchInActivity(asked, addresses, request),
  })
  return (tenantId) => ({
    api: client.publicClient(at(outside, tenantId)),
    internal: client.internalClient(at(inside, tenantId)),
  })
}

/** The body of a successful response. @throws ApplicationFailure of failures.ts, whose type is the problem's code */
export const bodyOf = <T>(request: Promise<client.FetchResult<T>>): Promise<T> =>
  client.bodyOrThrow(request, failureOfResponse)

/** What a request brings; undefined if the service refuses it with one of these codes. */
export async function unlessRefused<T>(codes: ReadonlySet<string>, request: Promise<T>): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof ApplicationFailure && codes.has(error.type ?? '')) return undefined
    throw error
  }
}

/** The code and the reason of a request that is refused for good. @throws any other error */
export function finalRefusal(error: unknown): { readonly code: string; readonly detail: string } {
  if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error
  return { code: error.type ?? 'internal_error', detail: error.message }
}
