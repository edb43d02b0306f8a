import { describe, expect, test } from 'vitest'
import { internalOpenapiDocument, openapiDocument } from '../../../api/openapi.ts'
import { aPool, aSim, asking, aTariff, provisioned, useHarness } from '../harness.ts'

const harness = useHarness({ checkAnswers: false })

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly maximum?: number
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}
interface Requests {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name?: string; readonly schema?: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
}

/** Numbers in requests that have no maximum, as operation and field. One too large for its column would fail. */
function unboundedNumbers(document: unknown): string[] {
  const { paths, components } = document as Requests
  const within = (schema: Schema, name: string): string[] => {
    const named = schema.$ref && components.schemas[schema.$ref.split('/').at(-1) ?? '']
    if (named) return within(named, name)
    const isNumber = [schema.type].flat().some((type) => type === 'integer' || type === 'number')
    const isBounded = schema.maximum !== undefined || schema.enum !== undefined || schema.const !== undefined
    return [
      ...(isNumber && !isBounded ? [name] : []),
      ...Object.entries(schema.properties ?? {}).flatMap(([field, each]) => within(each, field)),
      ...[schema.items ?? [], schema.allOf ?? [], schema.anyOf ?? []].flat().flatMap((each) => within(each, name)),
    ]
  }
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  return operations.flatMap(({ operationId, parameters = [], requestBody }) =>
    [
      ...parameters.flatMap(({ name = '', schema }) => (schema === undefined ? [] : within(schema, name))),
      ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => (schema ? within(schema, 'body') : [])),
    ].map((field) => `${operationId} ${field}`),
  )
}

describe('the OpenAPI document', () => {
  test('is what the listener serves, without a database', async () => {
    const document = await openapiDocument()
    const served = await asking(harness.outside, {})('GET', '/openapi.json')

    expect(document).toMatchObject({ openapi: '3.1.0' })
    expect(served.body).toEqual(document)
  })

  test('has every public path, with unique operation ids', async () => {
    const { paths } = (await openapiDocument()) as { paths: Record<string, Record<string, { operationId: string }>> }
    const operations = Object.values(paths).flatMap((item) => Object.values(item))

    expect(Object.keys(paths).sort()).toEqual([
      '/api/events',
      '/api/events/metadata',
      '/api/events/{id}',
      '/api/orders',
      '/api/orders/metadata',
      '/api/orders/pricing',
      '/api/orders/{orderId}',
      '/api/pools',
      '/api/pools/metadata',
      '/api/pools/{id}',
      '/api/pools/{id}/sims',
      '/api/pools/{id}/watchdog-logs',
      '/api/sims',
      '/api/sims/metadata',
      '/api/sims/{idOrIccid}',
      '/api/sims/{id}/queue-reprovision',
      '/api/sims/{id}/queue-unprovision',
      '/api/sims/{id}/tag',
      '/api/sims/{id}/watchdog-logs',
      '/api/tariffs',
      '/api/tariffs/metadata',
      '/api/tariffs/{id}',
      '/api/tenant',
      '/api/tenant/billing-email',
      '/api/tenant/name',
      '/api/tickets',
      '/api/tickets/activate',
      '/api/tickets/metadata',
      '/api/tickets/provision',
      '/api/tickets/refresh',
      '/api/tickets/send-sms',
      '/api/tickets/suspend',
      '/api/tickets/{id}',
      '/api/watchdog/logs',
      '/api/watchdog/metadata',
    ])
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  })

  test('bounds every number in a request', async () => {
    const unbounded = [await openapiDocument(), await internalOpenapiDocument()].flatMap(unboundedNumbers)

    // Fields that PUT accepts in a pool as it was read, and ignores.
    expect([...new Set(unbounded)]).toEqual([
      'updatePool activeSimCount',
      'updatePool totalSimCount',
      'updatePool limitMB',
      'updatePool usageMB',
      'updatePool remainingMB',
      'updatePool overageMB',
      'updatePool voiceMins',
      'updatePool smsCount',
      'updatePool daysUntilRenewal',
    ])
  })

  test('refers only to its own schemas, all used', async () => {
    for (const document of [await openapiDocument(), await internalOpenapiDocument()]) {
      const text = JSON.stringify(document)
      const { schemas } = (document as { components: { schemas: Record<string, unknown> } }).components
      const targets = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))

      expect([...targets].filter((name) => name === undefined || !(name in schemas))).toEqual([])
      expect(targets).toContain('Problem')
      expect(Object.keys(schemas).filter((name) => !targets.has(name))).toEqual([])
    }
  })

  test('has a page that loads nothing from elsewhere', async () => {
    const page = await asking(harness.outside, {})('GET', '/docs/')

    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toContain("default-src 'self'")
    const nonces = [...page.body.matchAll(/ nonce="([^"]+)"/g)].map(([, nonce]) => nonce)
    expect(new Set(nonces).size).toBe(1)
    expect(page.headers['content-security-policy']).toContain(`script-src 'nonce-${nonces[0]}';`)
    expect((await asking(harness.outside, {})('GET', '/docs/')).body).not.toContain(nonces[0])
    expect(page.body).not.toMatch(/(src|href)="?https?:/)
  })
})

describe('a response', () => {
  test('has null in nullable fields, not 0 or ""', async () => {
    const { id } = await aSim(harness.tenant)
    const tariffId = await aTariff(harness.tenant)
    const poolId = await aPool(harness.tenant, { tariffId })
    await provisioned(harness, harness.tenant, id, { poolId })
    const ticket = await harness.tenant.ask('POST', '/api/tickets/activate', { simId: id })

    const sim = await harness.tenant.ask('GET', `/api/sims/${id}`)
    const pool = await harness.tenant.ask('GET', `/api/pools/${poolId}`)
    const tariff = await harness.tenant.ask('GET', `/api/tariffs/${tariffId}`)
    const shown = await harness.tenant.ask('GET', `/api/tickets/${ticket.body.id}`)

    expect(sim.body).toMatchObject({
      tariffId: null,
      lastSeenAt: null,
      esimQrPayload: null,
      pendingPoolId: null,
      pendingTariffId: null,
      warningThresholdPct: null,
      enableBurnRateAlerts: null,
      provisionedAt: expect.stringMatching(/Z$/),
      tariff: tariff.body,
    })
    expect(pool.body).toMatchObject({ warningThresholdPct: null, enableBurnRateAlerts: null })
    expect(tariff.body).toMatchObject({ dynamicPoolTariff: null, fixedPoolTariff: null })
    expect(tariff.body.standardTariff.smsFee).toBe(0.05)
    expect(shown.body.provisioningInfo).toBeNull()
  })

  test('has {} for a missing tariff', async () => {
    const { id } = await aSim(harness.tenant)

    expect((await harness.tenant.ask('GET', `/api/sims/${id}`)).body.tariff).toEqual({})
  })
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
