import { ServiceError } from '../../../domain/errors.ts'
import { tenantOfWorkflow } from '../../../domain/temporal/ids.ts'

/**
 * Refuses requests about another tenant's workflow. Decides by the id alone, without a request to Temporal.
 *
 * @throws ServiceError `workflow_not_found`, as for a workflow that does not exist
 */
export function mustBeOwn(workflowId: string, tenantId: string): void {
  if (tenantOfWorkflow(workflowId) === tenantId) return
  throw new ServiceError('workflow_not_found', `there is no workflow ${workflowId}`)
}
