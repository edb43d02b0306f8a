import { afterAll, expect, test } from 'vitest'
import { startService } from '../setup/service.ts'
import { playMainJob } from './main-job.ts'
import { expectOutcome } from './outcome.ts'

const service = await startService()
afterAll(service.stop)

test('the main job runs from unprovisioned SIMs to the month end, each thing once', async () => {
  const { player, cycle } = await playMainJob(service).catch((error) => {
    throw new Error(`${error.message}\n${service.lines.slice(-40).join('\n')}`, { cause: error })
  })

  await expectOutcome(service, player, cycle.key)
  expect(service.lines.filter((line) => line.includes('ended unasked'))).toEqual([])
})
