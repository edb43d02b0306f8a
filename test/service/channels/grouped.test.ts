import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { aStore } from '../../setup/estate.ts'
import { evaluationOptions, watch } from '../harness.ts'
import { WARNING } from '../watchdog/alert-world.ts'
import { aPost, SECOND } from './post.ts'

const store = await aStore()

await activateRules(store, WARNING, 'the tests')
const EVALUATION = evaluationOptions()

describe('grouped mails', () => {
  test.each([
    ['an hour', 'P1M', 3600],
    ['a tenth of a short cycle', 'PT1H', 360],
  ])('leave at least %s apart', async (_, billingCycle, distance) => {
    const post = await aPost(store, {}, billingCycle)
    store.now = Date.parse('2026-11-10T12:00:00Z')
    const settings = { watchdogMode: WatchdogMode.Monitor, warningThresholdPct: 80 }
    const poolId = await post.aPool(TariffType.Standard, 100, settings)
    const sims = await post.activeSims(6, { poolId })
    const fire = async (simId = 0) => {
      await post.record([post.usage(simId, { bytesUp: 85 })])
      await watch(store, EVALUATION, post.tenantId)
      await post.send()
    }
    const mailedSims = async () =>
      (await post.mails()).map(({ keys }) =>
        keys.map((key) => Number(/^sim-usage-warning\/sim\/(\d+)\//.exec(key)?.[1])),
      )
    const wait = async (seconds: number) => {
      store.now += seconds * SECOND
      await post.send()
    }
    const seen: number[][][] = []

    await fire(sims[0])
    await wait(30)
    await fire(sims[1])
    await wait(29.999)
    seen.push(await mailedSims())
    await wait(0.001)
    seen.push(await mailedSims())
    await wait(1)
    await fire(sims[2])
    await wait(100)
    await fire(sims[3])
    await wait(distance - 101.001)
    seen.push(await mailedSims())
    await wait(0.001)
    seen.push(await mailedSims())

    const [a, b, c, d] = sims
    expect(seen).toEqual([
      [],
      [[a, b]],
      [[a, b]],
      [
        [a, b],
        [c, d],
      ],
    ])
  })
})
