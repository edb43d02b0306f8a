/** The workflows: one export each, under its name in WORKFLOW_TYPES. A test compares them in both directions. */
export { enforcePool as 'enforce-pool' } from './enforce-pool.ts'
export { monthEndBatch as 'month-end-batch' } from './month-end-batch.ts'
export { monthEndReprovision as 'month-end-reprovision' } from './month-end-reprovision.ts'
export { monthEndTimer as 'month-end-timer' } from './month-end-timer.ts'
export { provisionAndActivate as 'provision-and-activate' } from './provision-and-activate.ts'
export { provisionInBulk as 'provision-in-bulk' } from './provision-in-bulk.ts'
export { suspendOnOverage as 'suspend-on-overage' } from './suspend-on-overage.ts'
export { undoSuspensions as 'undo-suspensions' } from './undo-suspensions.ts'
