/** The routes that ask Temporal, against its development server: who may, and what they leave in the audit trail. No worker runs. */
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { lifecycleClient } from '../../queues/temporal.ts'
import { LINES, OPERATIONS } from '../api/calls.ts'
import { useEstates } from '../api/estate.ts'
import { type Keys, leavesItsTrail, opensToNobodyElse, someKeys } from '../api/route-checks.ts'
import { freshNamespace } from '../setup/service.ts'

const lifecycles = lifecycleClient({ address: inject('temporalAddress'), namespace: await freshNamespace() })
const estates = useEstates({ lifecycles })
const { house } = estates
let keys: Keys

beforeAll(async () => {
  keys = await someKeys(house)
  for (const { id } of [house.tenant, house.other]) {
    await lifecycles.ensureSchedule({ tenantId: id, billingCycle: 'P1M' })
  }
})
afterAll(() => lifecycles.close())

const ASKING = OPERATIONS.filter(({ operationId }) => LINES[operationId]?.asksTemporal)

describe('opens to no wrong key, and shows another tenant nothing:', () => {
  test.each(ASKING)('$method $path', async (operation) => {
    await opensToNobodyElse(estates, keys, operation)
  })
})

describe('what is asked of a workflow is in the audit trail:', () => {
  test.each(ASKING.filter(({ method }) => method !== 'GET'))('$method $path', async (operation) => {
    await leavesItsTrail(estates, operation)
  })
})
