import { afterEach, expect, test } from 'vitest'
import type { TroubleReport } from '../../../domain/workflows/trouble.ts'
import { answerJson, readBody, serve } from '../../../stack/http.ts'
import { sendTroubles } from '../../../worker/send-troubles.ts'
import { soon } from '../../setup/soon.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A service that answers with these statuses, then with 200. */
async function aService(...statuses: number[]) {
  const got: (TroubleReport & { tenant: unknown })[] = []
  const { url, stop } = await serve(0, 'the service', (request, response) => {
    const take = async () => {
      got.push({ ...((await readBody(request)) as TroubleReport), tenant: request.headers['x-tenant-id'] })
      const status = statuses.shift() ?? 200
      answerJson(response, status, status === 200 ? {} : { code: 'of_the_test', detail: 'no' })
    }
    void take()
  })
  const failures: string[] = []
  const sender = sendTroubles({ internalUrl: url, key: 'key' }, ({ message }) => failures.push(message))
  closing.push(sender.stop, stop)
  return { ...sender, got, failures }
}

const place = (sim: number, tenant = 't1') => ({
  workflowId: `provision-and-activate:${tenant}:${sim}`,
  activityId: '4',
})
const AT = '2026-11-20T12:00:00.000Z'
const failing = (sim: number, attempt = 3, tenant = 't1') => ({
  ...place(sim, tenant),
  activity: 'openTicket',
  attempt,
  code: 'unavailable',
  detail: 'away',
  since: AT,
  failedAt: AT,
  nextAttemptAt: AT,
})

test('sends the newest report on each activity, together', async () => {
  const { reports, got } = await aService()
  for (const attempt of [3, 5]) reports.failed(failing(1, attempt))
  reports.failed(failing(2))
  reports.ended(place(2))
  reports.failed(failing(3, 3, 't2'))
  reports.ended({ workflowId: 'of another service', activityId: '1' })
  await soon(() => expect(got).toHaveLength(2))

  expect(got).toEqual([
    { tenant: 't1', failing: [failing(1, 5)], ended: [place(2)] },
    { tenant: 't2', failing: [failing(3, 3, 't2')], ended: [] },
  ])
})

test('keeps reports while the service is away, unless a newer one comes', async () => {
  const { reports, got, failures, stop } = await aService(503)
  for (const sim of [1, 2]) reports.failed(failing(sim))
  await soon(() => expect(failures).toEqual(['no']))
  reports.ended(place(2))
  await stop()

  expect(got.slice(1)).toEqual([{ tenant: 't1', failing: [failing(1)], ended: [place(2)] }])
})

test('drops what the service refuses, and sends at most 500 at once', async () => {
  const { reports, got, failures, stop } = await aService(404)
  for (let sim = 1; sim <= 501; sim++) reports.failed(failing(sim))
  await stop()

  expect(got.map((report) => report.failing.length)).toEqual([500, 1])
  expect(failures).toEqual(['no'])
})
