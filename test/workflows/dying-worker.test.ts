/** A worker that dies in the middle of an activity: what it had begun is found by the next. */
import { expect, test } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import { soon } from '../setup/soon.ts'
import { useServerHarness } from './development-server.ts'
import { aSim, TENANT } from './model/service.ts'

const harness = useServerHarness()

test('a worker that dies between two tickets leaves the first to the next worker', async () => {
  const { model } = harness
  model.sims.set(1, aSim({ status: 0, poolId: null, tariffId: null }))
  let asked = 0
  model.before = async (line) => {
    if (line !== 'POST /api/tickets/activate') return
    asked += 1
    // The first request is never handled: whoever sent it is gone.
    if (asked === 1) await new Promise(() => {})
  }
  const workflowId = provisionAndActivateId(TENANT, 1)
  const input = { tenantId: TENANT, simId: 1, poolId: 7, tariffId: 3 }
  await harness.workflowClient.start({ type: 'provision-and-activate', workflowId, input })
  // The first ticket may have ended before the second is opened.
  await soon(() => expect(asked).toBe(1))
  await soon(() => expect(model.ticketsOf(1)).toEqual(['provision:2']))
  const comeBack = await harness.sendWorkerAway()
  await comeBack()

  expect(await harness.temporal.getHandle(workflowId).result()).toMatchObject({ outcome: 'activated' })
  expect(model.ticketsOf(1)).toEqual(['provision:2', 'activate:2'])
  expect(model.calls('POST /api/tickets/provision')).toBe(2)
})
