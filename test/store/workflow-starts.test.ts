import { sql } from 'kysely'
import { expect, test } from 'vitest'
import {
  enforcePoolId,
  monthEndId,
  parseWorkflowId,
  provisionAndActivateId,
  suspendOnOverageId,
} from '../../domain/temporal/ids.ts'
import { rememberStarts } from '../../store/outbox.ts'
import { aStore, aTenantOf } from '../setup/estate.ts'

const store = await aStore()

test('columns of workflow_starts are the parts of the id', async () => {
  const { tenantId, asTenant, rows } = await aTenantOf(store)
  const ids = [
    suspendOnOverageId(tenantId, 9_007_199_254_740_991, '20261121T0210Z'),
    suspendOnOverageId(tenantId, 7, '2026-11'),
    enforcePoolId(tenantId, 2_147_483_647, '2026-11'),
    provisionAndActivateId(tenantId, 7),
    monthEndId(tenantId, '2026-11'),
  ]
  await asTenant((tx) => rememberStarts(tx, ids))
  const starts = await rows(sql<{ id: string }>`
    select workflow_id as id, type, sim_id as "simId", pool_id as "poolId", cycle_key as "cycleKey" from workflow_starts`)

  expect(starts).toHaveLength(ids.length)
  for (const { id, ...columns } of starts) {
    const parts = parseWorkflowId(id)
    const isOnce = parts?.type === 'suspend-on-overage' || parts?.type === 'enforce-pool'
    expect(columns, id).toEqual({
      type: parts?.type,
      simId: parts?.type === 'suspend-on-overage' ? parts.simId : null,
      poolId: parts?.type === 'enforce-pool' ? parts.poolId : null,
      cycleKey: isOnce ? parts.cycleKey : null,
    })
  }
})
