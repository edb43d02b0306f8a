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
  type WorkflowType,
  workflowTypeOf,
} from '../../../domain/temporal/ids.ts'

const TENANT = 'tf622080bc0a0'

test('tenantOfWorkflow reads a timer that its Schedule has started', () => {
  expect(tenantOfWorkflow(`${monthEndTimerId(TENANT)}-2026-12-01T00:00:00Z`)).toBe(TENANT)
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
type Parts<T extends WorkflowType> = Omit<Extract<WorkflowIdParts, { type: T }>, 'type'>

/** For each type: its parts besides the tenant, and the id that its builder makes of them. */
const BUILT: {
  readonly [T in WorkflowType]: readonly [
    parts: { readonly [K in keyof Omit<Parts<T>, 'tenantId'>]: fc.Arbitrary<Omit<Parts<T>, 'tenantId'>[K]> },
    idOf: (parts: Parts<T>) => string,
  ]
} = {
  'provision-and-activate': [{ simId: number }, (of) => provisionAndActivateId(of.tenantId, of.simId)],
  'provision-in-bulk': [{ batchId: fc.uuid() }, (of) => provisionInBulkId(of.tenantId, of.batchId)],
  'suspend-on-overage': [{ simId: number, cycleKey }, (of) => suspendOnOverageId(of.tenantId, of.simId, of.cycleKey)],
  'enforce-pool': [{ poolId: number, cycleKey }, (of) => enforcePoolId(of.tenantId, of.poolId, of.cycleKey)],
  'undo-suspensions': [
    { rule: fc.string({ minLength: 1 }), span: word },
    (of) => undoSuspensionsId(of.tenantId, of.rule, of.span),
  ],
  'month-end-reprovision': [{ cycleKey }, (of) => monthEndId(of.tenantId, of.cycleKey)],
  'month-end-batch': [
    { cycleKey, run: word, batch: fc.constantFrom('move:0', 'renew-again:500') },
    (of) => monthEndBatchId(of.tenantId, of.cycleKey, of.run, of.batch),
  ],
  'month-end-timer': [{}, (of) => monthEndTimerId(of.tenantId)],
}

test.each(WORKFLOW_TYPES)('parseWorkflowId reads back the id of %s', (type) => {
  const [parts, idOf] = BUILT[type] as readonly [Record<string, fc.Arbitrary<unknown>>, (of: unknown) => string]
  fc.assert(
    fc.property(fc.record({ tenantId, ...parts }), (of) => {
      const id = idOf(of)
      expect(parseWorkflowId(id)).toEqual({ type, ...of })
      expect(workflowTypeOf(id)).toBe(type)
      expect(tenantOfWorkflow(id)).toBe(of.tenantId)
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
