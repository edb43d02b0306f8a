/** Requests to the internal interface about workflows, for the commands. */

import type { InternalClient } from '../../adapters/rest/client.ts'
import type { components } from '../../adapters/rest/internal.d.ts'
import { tenantOfWorkflow } from '../../domain/temporal/ids.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { responseOf } from '../service.ts'

export type RunInfo = components['schemas']['WorkflowInfo']
export type StartAnswer = components['schemas']['StartResponse']
export type Pending = components['schemas']['WorkflowPending']

/**
 * The tenant that an option names, else the one in the workflow's id.
 *
 * @throws CommandFailure if there is neither
 */
export function tenantOf(workflowId: string, tenant: string | undefined): string {
  const named = tenant ?? tenantOfWorkflow(workflowId)
  if (named !== undefined && named !== '') return named
  throw new CommandFailure(
    `got the id '${workflowId}', expected one as "npx simherd workflows list" shows it, ` +
      'such as provision-and-activate:t0123456789ab:7 (or name the tenant of another kind of id with --tenant)',
    ExitCode.usage,
  )
}

export const askRun = (service: InternalClient, workflowId: string): Promise<RunInfo> =>
  responseOf(service.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } }))

export const askPending = (service: InternalClient, workflowId: string): Promise<Pending> =>
  responseOf(service.GET('/internal/workflows/{workflowId}/pending', { params: { path: { workflowId } } }))
