/**
 * Ids of workflows. Every id contains its type and its tenant. There is a builder for each type, and
 * {@link parseWorkflowId} reads ids.
 *
 * Tenant ids, ids of batches and keys of cycles have no colon. A rule's name in a request may have one.
 */

export const WORKFLOW_TYPES = [
  'provision-and-activate',
  'provision-in-bulk',
  'suspend-on-overage',
  'enforce-pool',
  'undo-suspensions',
  'month-end-reprovision',
  'month-end-batch',
  'month-end-timer',
] as const
export type WorkflowType = (typeof WORKFLOW_TYPES)[number]

export const provisionAndActivateId = (tenantId: string, simId: number) => `provision-and-activate:${tenantId}:${simId}`
export const provisionInBulkId = (tenantId: string, batchId: string) => `provision-in-bulk:${tenantId}:${batchId}`
export const suspendOnOverageId = (tenantId: string, simId: number, cycleKey: string) =>
  `suspend-on-overage:${tenantId}:${simId}:${cycleKey}`
export const enforcePoolId = (tenantId: string, poolId: number, cycleKey: string) =>
  `enforce-pool:${tenantId}:${poolId}:${cycleKey}`
/** @param span distinguishes undoing different spans of time: `<since>[-<until>]`, epoch milliseconds */
export const undoSuspensionsId = (tenantId: string, rule: string, span: string) =>
  `undo-suspensions:${tenantId}:${rule}:${span}`
export const monthEndId = (tenantId: string, cycleKey: string) => `month-end-reprovision:${tenantId}:${cycleKey}`
/**
 * @param run distinguishes the batches of different runs of a month end
 * @param batch names the batch within the run
 */
export const monthEndBatchId = (tenantId: string, cycleKey: string, run: string, batch: string) =>
  `month-end-batch:${tenantId}:${cycleKey}:${run}:${batch}`
export const monthEndTimerId = (tenantId: string) => `month-end-timer:${tenantId}`

export const monthEndScheduleId = (tenantId: string) => `month-end:${tenantId}`

/** The type that an id begins with; undefined if it is not one of our ids. */
export const workflowTypeOf = (workflowId: string): WorkflowType | undefined =>
  WORKFLOW_TYPES.find((type) => workflowId.startsWith(`${type}:`))

/** Suffix that a Schedule appends to the id of a run that it starts: the scheduled instant. */
const SCHEDULED_AT = /-\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** The tenant of a workflow, after the type in every id; undefined if the id is not of this service. */
export function tenantOfWorkflow(workflowId: string): string | undefined {
  if (workflowTypeOf(workflowId) === undefined) return undefined
  return workflowId.replace(SCHEDULED_AT, '').split(':')[1] || undefined
}

export type WorkflowIdParts = { readonly tenantId: string } & (
  | { readonly type: 'provision-and-activate'; readonly simId: number }
  | { readonly type: 'provision-in-bulk'; readonly batchId: string }
  | { readonly type: 'suspend-on-overage'; readonly simId: number; readonly cycleKey: string }
  | { readonly type: 'enforce-pool'; readonly poolId: number; readonly cycleKey: string }
  | { readonly type: 'undo-suspensions'; readonly rule: string; readonly span: string }
  | { readonly type: 'month-end-reprovision'; readonly cycleKey: string }
  | { readonly type: 'month-end-batch'; readonly cycleKey: string; readonly run: string; readonly batch: string }
  | { readonly type: 'month-end-timer' }
)

const NUMBER = /^[1-9]\d{0,15}$/

/** Reads the parts of a workflow id; undefined if no builder makes such an id. */
export function parseWorkflowId(workflowId: string): WorkflowIdParts | undefined {
  const type = workflowTypeOf(workflowId)
  const tenantId = tenantOfWorkflow(workflowId)
  if (type === undefined || tenantId === undefined) return undefined
  const rest = workflowId.slice(`${type}:${tenantId}:`.length)
  const [first = '', second = '', ...more] = rest.split(':')
  const isNumbered = NUMBER.test(first)
  switch (type) {
    case 'provision-and-activate':
      return isNumbered && rest === first ? { type, tenantId, simId: Number(first) } : undefined
    case 'provision-in-bulk':
      return first !== '' && rest === first ? { type, tenantId, batchId: first } : undefined
    case 'suspend-on-overage':
      return isNumbered && isWhole(rest, first, second)
        ? { type, tenantId, simId: Number(first), cycleKey: second }
        : undefined
    case 'enforce-pool':
      return isNumbered && isWhole(rest, first, second)
        ? { type, tenantId, poolId: Number(first), cycleKey: second }
        : undefined
    case 'undo-suspensions': {
      const [, rule = '', span = ''] = /^(.+):([^:]+)$/s.exec(rest) ?? []
      return rule === '' ? undefined : { type, tenantId, rule, span }
    }
    case 'month-end-reprovision':
      return first !== '' && rest === first ? { type, tenantId, cycleKey: first } : undefined
    case 'month-end-batch': {
      const batch = more.join(':')
      return isWhole(rest, first, second, batch) ? { type, tenantId, cycleKey: first, run: second, batch } : undefined
    }
    case 'month-end-timer':
      return { type, tenantId }
  }
}

const isWhole = (rest: string, ...parts: readonly string[]): boolean =>
  parts.every((part) => part !== '') && rest === parts.join(':')
