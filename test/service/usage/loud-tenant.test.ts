import { describe, expect, test } from 'vitest'
import { lockMerge } from '../../../service/usage/rows/merge.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen } from '../../setup/lock-waits.ts'
import { aHarness, oneActiveSim } from '../harness.ts'

const store = await aStore()
/** More than the store has connections. */
const CHUNKS = 12

describe('a tenant with many chunks of usage at once', () => {
  test('leaves connections to other tenants while its chunks wait for one another', async () => {
    const [loud, other] = [await aHarness(store), await aHarness(store)]
    const [loudSim = 0] = await loud.activeSims(1)
    const [otherSim = 0] = await other.activeSims(1)
    const release = await heldOpen(loud.asTenant, lockMerge)

    const chunks = Array.from({ length: CHUNKS }, () => loud.record([loud.usage(loudSim, { bytesUp: 1 })]))
    const meanwhile = await other.record([other.usage(otherSim, { bytesUp: 1 })])
    await release()

    expect(meanwhile).toMatchObject({ accepted: 1 })
    expect(await Promise.all(chunks)).toEqual(chunks.map(() => expect.objectContaining({ accepted: 1 })))
    expect(await loud.ledger()).toMatchObject([{ simId: loudSim, bytes: CHUNKS }])
  })

  test('refuses more than a process can hold, and counts each of the others once', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, () => harness.record([harness.usage(simId, { bytesUp: 1 })])),
    )
    const refused = results.filter((result) => result.status === 'rejected')

    expect(refused.map(({ reason }) => reason)).toEqual(
      refused.map(() => expect.objectContaining({ code: 'quota_exceeded' })),
    )
    expect(refused.length).toBe(9)
    expect(await harness.ledger()).toMatchObject([{ simId, bytes: 51 }])
    expect(await harness.record([harness.usage(simId, { bytesUp: 1 })])).toMatchObject({ accepted: 1 })
  })
})
