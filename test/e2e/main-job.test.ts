import { afterAll, expect, test } from 'vitest'
import { untilCycleEndsIn } from '../setup/cycles.ts'
import { startService } from '../setup/service.ts'
import { playMainJob } from './main-job.ts'
import { expectOutcome } from './outcome.ts'

const JOB_MS = 30_000
/** Time to start the service: alone it takes 8 s, on a busy machine 40 s. */
const START_MS = 60_000

await untilCycleEndsIn(JOB_MS + START_MS)
const service = await startService({ TEMPORAL_UI_URL: 'http://temporal.example/', SWEEP_EVERY: 'PT2S' })
afterAll(service.stop)

test('plays the main job with each effect once', async () => {
  const { player, cycle } = await playMainJob(service, JOB_MS)

  await expectOutcome(service, player, cycle.key)
  expect(service.lines.filter((line) => line.includes('ended unasked'))).toEqual([])
  const id = `provision-and-activate:${player.tenantId}:${player.sims.get('standard-0')}`
  const seen = await fetch(`${service.internalUrl}/internal/workflows/${id}`, {
    headers: { authorization: `Bearer ${service.key}`, 'x-tenant-id': player.tenantId },
  })
  const { runId, result } = (await seen.json()) as { runId: string; result: object }
  expect(result).toMatchObject({ outcome: 'activated', failure: null })
  const link = seen.headers.get('link')
  expect(link).toMatch(/^<http:\/\/temporal\.example\/namespaces\/test-.*\/history>; rel="history"$/)
  expect(link).toContain(runId)
})
