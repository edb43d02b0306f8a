/** Requests of a command to the internal interface. */
import type { FetchResult, InternalClient } from '../adapters/rest/client.ts'
import type { Settings } from '../process/settings.ts'
import type { TenantFlags } from './command.ts'
import { openInternalClient, refused, responseOf, type ServiceOptions } from './service.ts'
import { serviceOf } from './service-address.ts'

/** How long to wait for an unreachable service. Following a run includes waiting while a new release is deployed. */
const PATIENCE_MS = 10_000
const FOLLOWING_MS = 10 * 60_000

export interface Asking extends Omit<ServiceOptions, 'url' | 'key'> {
  readonly settings: Settings
  /** The command runs for long, so it waits for an unreachable service. */
  readonly follows?: boolean | undefined
}

/**
 * Works with a client of the service that the settings name.
 *
 * @throws CommandFailure with the service's response, each wrong field on a line
 */
export async function askService<T>(
  { settings, follows, ...options }: Asking,
  work: (service: InternalClient) => Promise<T>,
): Promise<T> {
  const { url, key } = await serviceOf(settings)
  const patienceMs = follows === true ? FOLLOWING_MS : PATIENCE_MS
  try {
    return await work(openInternalClient({ url, key, patienceMs, ...options }))
  } catch (error) {
    return refused(error)
  }
}

/** Sends one request about the platform. @returns the body of the response */
export const askOnce = <T>(
  settings: Settings,
  send: (service: InternalClient) => Promise<FetchResult<T>>,
): Promise<T> => askService({ settings }, (service) => responseOf(send(service)))

/** A command about a tenant: works with a client of the service, then with its options. */
export const forTenant =
  <F extends TenantFlags>(
    work: (service: InternalClient, flags: F) => Promise<void>,
    options: Pick<ServiceOptions, 'timeoutMs'> = {},
  ) =>
  (settings: Settings, flags: F): Promise<void> =>
    askService({ settings, tenantId: flags.tenant, ...options }, (service) => work(service, flags))

/** As {@link forTenant}, for a command with an argument. */
export const forTenantOn =
  <A, F extends TenantFlags>(work: (service: InternalClient, argument: A, flags: F) => Promise<void>) =>
  (settings: Settings, argument: A, flags: F): Promise<void> =>
    askService({ settings, tenantId: flags.tenant }, (service) => work(service, argument, flags))
