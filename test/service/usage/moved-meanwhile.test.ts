import { expect, test } from 'vitest'
import { closeMemberships, openMemberships, readSimStates } from '../../../service/sims/rows/sim-state.ts'
import { changeSeats, holdCycles } from '../../../service/usage/rows/contributions.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { lockPools } from '../../../service/usage/rows/pool-totals.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen, lockWaiters } from '../../setup/lock-waits.ts'
import { soon } from '../../setup/soon.ts'
import { aHarness } from '../harness.ts'

const store = await aStore()

test('usage of a SIM that a ticket moves meanwhile counts in its new pool', async () => {
  const harness = await aHarness(store)
  const [from, to] = [await harness.aPool(), await harness.aPool()]
  const [simId = 0] = await harness.activeSims(1, { poolId: from })
  const cycle = await harness.asTenant(currentCycle)

  const commit = await heldOpen(harness.asTenant, async (tx) => {
    await lockPools(tx, cycle.key, [from, to])
    const [sim] = await readSimStates(tx, [simId])
    if (sim === undefined) throw new Error('no SIM')
    const since = new Date(cycle.startsAt)
    await closeMemberships(tx, [{ simId, at: since }])
    await openMemberships(tx, [{ ...sim, poolId: to, at: since }])
    await changeSeats(tx, await holdCycles(tx, since), {
      active: [],
      tariffs: [],
      moves: [{ simId, from, poolId: to, tariffId: null, contributes: true, at: since }],
    })
  })
  const usage = harness.record([harness.usage(simId, { bytesDown: 77 })])
  await soon(async () => expect(await lockWaiters(store)).toBe(1))
  await commit()

  expect(await usage).toMatchObject({ accepted: 1 })
  const ledger = await harness.ledger()
  expect(ledger.filter(({ bytes }) => bytes > 0).map(({ poolId, bytes }) => [poolId, bytes])).toEqual([[to, 77]])
})
