/** Requests to the internal interface about workflows, for the commands. */

import type { InternalClient } from '../../adapters/rest/client.ts'
import type { components } from '../../adapters/rest/internal.d.ts'
import { tenantOfWorkflow } from '../../domain/temporal/ids.ts'
import type { Settings } from '../../process/settings.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { internalClient, refused, responseOf } from '../service.ts'
import { serviceOf } from '../service-address.ts'

export type Run = components['schemas']['WorkflowInfo']
export type Started = components['schemas']['StartResponse']
export type Pending = components['schemas']['WorkflowPending']

/** How long to wait for an unreachable service. Following a run includes waiting while a new release is deployed. */
const PATIENCE_MS = 10_000
const FOLLOWING_MS = 10 * 60_000

export interface Asking {
  readonly settings: Settings
  readonly tenantId: string
  /** The command runs for long, so it waits for an unreachable service. */
  readonly follows?: boolean | undefined
  /** How long a response may take, in milliseconds. Default: half a minute. */
  readonly timeoutMs?: number
}

/** @throws CommandFailure with the service's response, each wrong field on a line */
export async function asking<T>(
  { settings, tenantId, follows, ...rest }: Asking,
  work: (service: InternalClient) => Promise<T>,
) {
  const { url, key } = await serviceOf(settings)
  const patienceMs = follows === true ? FOLLOWING_MS : PATIENCE_MS
  try {
    return await work(internalClient({ url, key, tenantId, patienceMs, ...rest }))
  } catch (error) {
    return refused(error)
  }
}

/**
 * The tenant that an option names, else the one in the workflow's id.
 *
 * @throws CommandFailure if there is neither
 */
export function tenantOf(workflowId: string, tenant: string | undefined): string {
  const named = tenant ?? tenantOfWorkflow(workflowId)
  if (named !== undefined && named !== '') return named
  throw new CommandFailure(
    `got the id '${workflowId}', expected one as "simherd workflows list" shows it, ` +
      'such as provision-and-activate:t0123456789ab:7 (or name the tenant of another kind of id with --tenant)',
    ExitCode.usage,
  )
}

export const readRun = (service: InternalClient, workflowId: string): Promise<Run> =>
  responseOf(service.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } }))

export const readPending = (service: InternalClient, workflowId: string): Promise<Pending> =>
  responseOf(service.GET('/internal/workflows/{workflowId}/pending', { params: { path: { workflowId } } }))
