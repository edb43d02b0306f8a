import { ServiceError } from '../../../domain/errors.ts'
import { tenantOfWorkflow } from '../../../domain/temporal/ids.ts'

/**
 * Refuses what is asked of another tenant's workflow, by its id alone: nothing of Temporal's is asked for it.
 *
 * @throws ServiceError `workflow_not_found`, as for one that never was
 */
export function mustBeOwn(workflowId: string, tenantId: string): void {
  if (tenantOfWorkflow(workflowId) === tenantId) return
  throw new ServiceError('workflow_not_found', `there is no workflow ${workflowId}`)
}
