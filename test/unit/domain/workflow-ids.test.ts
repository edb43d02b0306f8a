import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  enforcePoolId,
  monthEndBatchId,
  monthEndId,
  monthEndScheduleId,
  monthEndTimerId,
  parseWorkflowId,
  provisionAndActivateId,
  provisionInBulkId,
  suspendOnOverageId,
  tenantOfWorkflow,
  undoSuspensionsId,
  WORKFLOW_TYPES,
  type WorkflowIdParts,
  workflowTypeOf,
} from '../../../domain/temporal/ids.ts'

const TENANT = 'tf622080bc0a0'
const IDS = {
  'provision-and-activate': provisionAndActivateId(TENANT, 7),
  'provision-in-bulk': provisionInBulkId(TENANT, '7c1e2d3f-0000-4000-8000-000000000000'),
  'suspend-on-overage': suspendOnOverageId(TENANT, 7, '20261121T0210Z'),
  'enforce-pool': enforcePoolId(TENANT, 7, '2026-11'),
  'undo-suspensions': undoSuspensionsId(TENANT, 'a:rule', '1763726400000-1763730000000'),
  'month-end-reprovision': monthEndId(TENANT, '2026-11'),
  'month-end-batch': monthEndBatchId(TENANT, '2026-11', '0a1b2c3d', 'move:0'),
  'month-end-timer': `${monthEndTimerId(TENANT)}-2026-12-01T00:00:00Z`,
}

test.each(WORKFLOW_TYPES)('tenantOfWorkflow reads the tenant of %s', (type) => {
  expect(tenantOfWorkflow(IDS[type])).toBe(TENANT)
})

test('tenantOfWorkflow reads a timer started by hand', () => {
  expect(tenantOfWorkflow(monthEndTimerId(TENANT))).toBe(TENANT)
})

test.each(['', 'enforce-pool', 'enforce-pool:', `enforce-pools:${TENANT}:7`, TENANT, monthEndScheduleId(TENANT)])(
  'tenantOfWorkflow finds no tenant in %j',
  (id) => {
    expect(tenantOfWorkflow(id)).toBeUndefined()
  },
)

const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const word = fc.stringMatching(/^[a-zA-Z0-9-]{1,20}$/)
const cycleKey = fc.constantFrom('2026-11', '20261121T0210Z')
const tenantId = fc.stringMatching(/^t[0-9a-f]{12}$/)
const of = <T extends object>(parts: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(parts)

/** For each type: parts of an id, and the id that its builder makes of them. */
const BUILT: { readonly [T in WorkflowIdParts['type']]: fc.Arbitrary<[WorkflowIdParts, string]> } = {
  'provision-and-activate': of({ tenantId, simId: number }).map((p) => [
    { type: 'provision-and-activate', ...p },
    provisionAndActivateId(p.tenantId, p.simId),
  ]),
  'provision-in-bulk': of({ tenantId, batchId: fc.uuid() }).map((p) => [
    { type: 'provision-in-bulk', ...p },
    provisionInBulkId(p.tenantId, p.batchId),
  ]),
  'suspend-on-overage': of({ tenantId, simId: number, cycleKey }).map((p) => [
    { type: 'suspend-on-overage', ...p },
    suspendOnOverageId(p.tenantId, p.simId, p.cycleKey),
  ]),
  'enforce-pool': of({ tenantId, poolId: number, cycleKey }).map((p) => [
    { type: 'enforce-pool', ...p },
    enforcePoolId(p.tenantId, p.poolId, p.cycleKey),
  ]),
  'undo-suspensions': of({ tenantId, rule: fc.string({ minLength: 1 }), span: word }).map((p) => [
    { type: 'undo-suspensions', ...p },
    undoSuspensionsId(p.tenantId, p.rule, p.span),
  ]),
  'month-end-reprovision': of({ tenantId, cycleKey }).map((p) => [
    { type: 'month-end-reprovision', ...p },
    monthEndId(p.tenantId, p.cycleKey),
  ]),
  'month-end-batch': of({ tenantId, cycleKey, run: word, batch: fc.constantFrom('move:0', 'renew-again:500') }).map(
    (p) => [{ type: 'month-end-batch', ...p }, monthEndBatchId(p.tenantId, p.cycleKey, p.run, p.batch)],
  ),
  'month-end-timer': of({ tenantId }).map((p) => [{ type: 'month-end-timer', ...p }, monthEndTimerId(p.tenantId)]),
}

test.each(WORKFLOW_TYPES)('parseWorkflowId reads back the id of %s', (type) => {
  fc.assert(
    fc.property(BUILT[type], ([parts, id]) => {
      expect(parseWorkflowId(id)).toEqual(parts)
      expect(workflowTypeOf(id)).toBe(type)
    }),
  )
})

test.each([
  `suspend-on-overage:${TENANT}:seven:2026-11`,
  `suspend-on-overage:${TENANT}:7`,
  `suspend-on-overage:${TENANT}:7:2026-11:more`,
  `enforce-pool:${TENANT}:07:2026-11`,
  `month-end-batch:${TENANT}:2026-11:run`,
  `undo-suspensions:${TENANT}:rule`,
  `provision-in-bulk:${TENANT}:`,
])('parseWorkflowId finds no parts in %s', (id) => {
  expect(parseWorkflowId(id)).toBeUndefined()
})
