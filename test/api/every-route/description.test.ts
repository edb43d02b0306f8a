import { describe, expect, test } from 'vitest'
import { internalOpenapiDocument, openapiDocument } from '../../../api/openapi.ts'
import { asking, useHarness } from '../harness.ts'

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
