import { afterAll, expect, test } from 'vitest'
import { playMainJob } from '../e2e/main-job.ts'
import { expectOutcome } from '../e2e/outcome.ts'
import { startService } from '../setup/service.ts'
import { killSupervised } from './harness.ts'

const service = await startService()
afterAll(service.stop)

/** A killed worker's claims are free again after a minute, which may happen twice before the cycle ends. */
const NEEDS_MS = 210_000

test('loses and repeats nothing though the worker is killed', async () => {
  const killedAt: string[] = []

  const { player, cycle } = await playMainJob(service, NEEDS_MS, async (moment) => {
    killedAt.push(moment)
    await killSupervised(service.worker)
  })

  expect(killedAt).toEqual(['activating', 'suspending', 'closing'])
  expect(service.lines.filter((line) => line.includes('worker | ended unasked'))).toHaveLength(3)
  await expectOutcome(service, player, cycle.key)
})
