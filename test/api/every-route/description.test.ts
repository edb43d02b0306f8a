import { describe, expect, test } from 'vitest'
import { openapiDocument } from '../../../api/openapi.ts'
import { asking, useHarness } from '../harness.ts'

const harness = useHarness({ checkAnswers: false })

test('the OpenAPI document is what the listener serves, without a database', async () => {
  const document = await openapiDocument()
  const served = await asking(harness.outside, {})('GET', '/openapi.json')

  expect(document).toMatchObject({ openapi: '3.1.0' })
  expect(served.body).toEqual(document)
})

describe('endpoints without a key', () => {
  test('show health, readiness and metrics', async () => {
    const ask = asking(harness.inside, {})

    expect(await ask('GET', '/healthz')).toMatchObject({ status: 200, body: { ok: true } })
    expect(await ask('GET', '/readyz')).toMatchObject({ status: 200, body: { ok: true } })
    const metrics = await ask('GET', '/metrics')
    expect(metrics.body).toContain('simherd_http_request_duration_seconds')
    expect(metrics.headers['content-type']).toMatch(/^text\/plain/)
  })

  test('explain a problem by its code', async () => {
    const answer = await asking(harness.outside, {})('GET', '/problems/sim_not_found')

    expect(answer.body).toEqual({
      code: 'sim_not_found',
      status: 404,
      retryable: false,
      title: 'SIM not found',
      remedy: expect.stringContaining('ICCID'),
    })
  })
})
