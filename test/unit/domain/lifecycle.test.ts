import { expect, test } from 'vitest'
import {
  enforcePoolId,
  monthEndBatchId,
  monthEndId,
  monthEndPlanId,
  monthEndScheduleId,
  monthEndTimerId,
  provisionAndActivateId,
  provisionInBulkId,
  suspendOnOverageId,
  tenantOfWorkflow,
  undoSuspensionsId,
  WORKFLOW_TYPES,
} from '../../../domain/temporal/lifecycle.ts'

const TENANT = 'tf622080bc0a0'
const IDS = {
  'provision-and-activate': provisionAndActivateId(TENANT, 7),
  'provision-in-bulk': provisionInBulkId(TENANT, '7c1e2d3f-0000-4000-8000-000000000000'),
  'suspend-on-overage': suspendOnOverageId(TENANT, 7, '20261121T0210Z'),
  'enforce-pool': enforcePoolId(TENANT, 7, '2026-11'),
  'undo-suspensions': undoSuspensionsId(TENANT, 'a:rule', '2026-11-21T12:00:00Z'),
  'month-end-reprovision': monthEndId(TENANT, '2026-11'),
  'month-end-batch': monthEndBatchId(TENANT, '2026-11', '0a1b2c3d', 'move:0'),
  'month-end-plan': monthEndPlanId(TENANT, '2026-11', 1),
  'month-end-timer': `${monthEndTimerId(TENANT)}-2026-12-01T00:00:00Z`,
}

test.each(WORKFLOW_TYPES)('the id of a %s says whose it is', (type) => {
  expect(tenantOfWorkflow(IDS[type])).toBe(TENANT)
})

test('a timer that was started by hand says it too', () => {
  expect(tenantOfWorkflow(monthEndTimerId(TENANT))).toBe(TENANT)
})

test.each(['', 'enforce-pool', 'enforce-pool:', `enforce-pools:${TENANT}:7`, TENANT, monthEndScheduleId(TENANT)])(
  'what is no workflow of ours is nobody’s: %j',
  (id) => {
    expect(tenantOfWorkflow(id)).toBeUndefined()
  },
)
