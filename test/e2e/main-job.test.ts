import { afterAll, expect, test } from 'vitest'
import { startService } from '../setup/service.ts'
import { playMainJob } from './main-job.ts'
import { expectOutcome } from './outcome.ts'

const service = await startService({ TEMPORAL_UI_URL: 'http://temporal.example/' })
afterAll(service.stop)

test('plays the main job with each effect once', async () => {
  const { player, cycle } = await playMainJob(service)

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
