import { readFile } from 'node:fs/promises'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { internalOpenapiDocument, openapiDocument } from '../../../api/openapi.ts'
import { ERRORS } from '../../../domain/errors.ts'
import { documentCheck } from '../../setup/document-check.ts'

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
interface Part {
  readonly $ref?: string
  readonly name?: string
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Record<string, { readonly value: unknown }>
  readonly content?: Record<string, Part>
  readonly links?: Record<string, { readonly operationId: string; readonly parameters: Record<string, string> }>
  readonly 'x-codes'?: readonly (keyof typeof ERRORS)[]
}
interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters?: readonly Part[]
  readonly requestBody?: Part
  readonly responses: Record<string, Part>
}
interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: Record<string, Record<string, Part>>
}

/** Codes that no operation declares: for a method that a path lacks; for one SIM of a bulk run. */
const OUTSIDE = ['method_not_allowed', 'sim_repeated']

const documents = {
  public: (await openapiDocument()) as Document,
  internal: (await internalOpenapiDocument()) as Document,
}
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
const every = Object.values(documents).flatMap(operationsOf)

function resolved({ components }: Document, part: Part): Part {
  const [, , kind = '', name = ''] = part.$ref?.split('/') ?? []
  return part.$ref === undefined ? part : components[kind]![name]!
}

/** Numbers in requests that have no maximum, as operation and field. One too large for its column would fail. */
function unboundedNumbers(document: Document): string[] {
  const within = (schema: Schema, name: string): string[] => {
    const named = schema.$ref && document.components.schemas?.[schema.$ref.split('/').at(-1) ?? '']
    if (named) return within(named, name)
    const isNumber = [schema.type].flat().some((type) => type === 'integer' || type === 'number')
    const isBounded = schema.maximum !== undefined || schema.enum !== undefined || schema.const !== undefined
    return [
      ...(isNumber && !isBounded ? [name] : []),
      ...Object.entries(schema.properties ?? {}).flatMap(([field, each]) => within(each, field)),
      ...[schema.items ?? [], schema.allOf ?? [], schema.anyOf ?? []].flat().flatMap((each) => within(each, name)),
    ]
  }
  return operationsOf(document).flatMap(({ operation: { operationId, parameters = [], requestBody } }) =>
    [...parameters, ...Object.values(requestBody?.content ?? {})].flatMap(({ name = 'body', schema }) =>
      schema === undefined ? [] : within(schema, name).map((field) => `${operationId} ${field}`),
    ),
  )
}

/** Each place with its schema and its examples. */
function examplesIn(document: Document) {
  const media = (part: Part | undefined, where: string) =>
    Object.entries((part === undefined ? {} : resolved(document, part)).content ?? {}).map(
      ([type, one]) => [`${where} ${type}`, one] as const,
    )
  return operationsOf(document).flatMap(({ operation }) => {
    const { operationId, parameters = [], requestBody, responses } = operation
    const parts = [
      ...parameters.map((one) => resolved(document, one)).map((one) => [`${operationId} ${one.name}`, one] as const),
      ...media(requestBody, `${operationId} body`),
      ...Object.entries(responses).flatMap(([status, answer]) => media(answer, `${operationId} ${status}`)),
    ]
    return parts.map(([where, part]) => ({
      where,
      schema: part.schema,
      examples: [
        ...('example' in part ? [part.example] : []),
        ...Object.values(part.examples ?? {}).map(({ value }) => value),
      ],
    }))
  })
}

describe.each(['public', 'internal'] as const)('the %s document', (listener) => {
  const document = documents[listener]
  const operations = operationsOf(document)

  test('gives every operation id, summary and described tag', () => {
    const tags = new Set(document.tags.filter(({ description }) => description !== '').map(({ name }) => name))
    const ids = operations.map(({ operation }) => operation.operationId)
    const unnamed = operations.filter(
      ({ operation }) => !operation.summary || !operation.tags?.every((tag) => tags.has(tag)) || !operation.tags.length,
    )

    expect(unnamed.map(({ operation }) => operation.operationId)).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('describes no unused tag', () => {
    const used = new Set(operations.flatMap(({ operation }) => operation.tags ?? []))

    expect(document.tags.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([])
  })

  test('has valid examples of parameters, bodies and responses', () => {
    const ajv = new Ajv2020({ strict: false, validateSchema: false })
    addFormats.default(ajv)
    ajv.addSchema(document, 'document')
    const validators = new Map<string, ValidateFunction>()
    const faults = examplesIn(document).flatMap(({ where, schema, examples }) => {
      if (examples.length === 0) return [`${where}: no example`]
      const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
      const validate = validators.get(text) ?? ajv.compile(JSON.parse(text))
      validators.set(text, validate)
      return examples.flatMap((example) => (validate(example) ? [] : [`${where}: ${ajv.errorsText(validate.errors)}`]))
    })

    expect(faults).toEqual([])
  })

  test('declares the problems of every operation with a key', () => {
    const keyed = operations.filter(({ operation }) => operation.security === undefined)
    const failures = keyed.flatMap(({ operation }) =>
      Object.entries(operation.responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([status, answer]) => ({ operation, status, answer: resolved(document, answer) })),
    )
    const unlike = failures.filter(
      ({ status, answer }) =>
        JSON.stringify(answer.content?.['application/problem+json']?.schema) !==
          '{"$ref":"#/components/schemas/Problem"}' ||
        answer['x-codes']?.every((code) => ERRORS[code].status === Number(status)) !== true,
    )

    expect(unlike.map(({ operation, status }) => `${operation.operationId} ${status}`)).toEqual([])
    for (const { operation } of keyed) {
      expect(Object.keys(operation.responses), operation.operationId).toEqual(
        expect.arrayContaining(['400', '401', '403', '500', '503']),
      )
    }
  })

  test('links only to existing operations and parameters', () => {
    const links = operations.flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap((answer) => Object.values(answer.links ?? {})),
    )
    const known = (link: (typeof links)[number]) =>
      operations.some(
        ({ operation, path }) =>
          operation.operationId === link.operationId &&
          Object.keys(link.parameters).every((parameter) => path.includes(`{${parameter}}`)),
      )

    expect(links.filter((link) => !known(link))).toEqual([])
    expect(links.length).toBeGreaterThan(10)
  })
})

test('every number in a request is bounded', () => {
  // Fields that PUT accepts in a pool as it was read, and ignores.
  const figures = ['activeSimCount', 'totalSimCount', 'limitMB', 'usageMB', 'remainingMB', 'overageMB', 'voiceMins']
  const ignored = [...figures, 'smsCount', 'daysUntilRenewal']

  const unbounded = new Set(Object.values(documents).flatMap(unboundedNumbers))
  expect([...unbounded]).toEqual(ignored.map((field) => `updatePool ${field}`))
})

test('every public operation has a description', () => {
  const silent = operationsOf(documents.public).filter(({ operation }) => !operation.description)

  expect(silent.map(({ operation }) => operation.operationId)).toEqual([])
})

test('every error code is declared by some operation', () => {
  const answered = new Set(
    Object.values(documents).flatMap((document) =>
      operationsOf(document).flatMap(({ operation }) =>
        Object.values(operation.responses).flatMap((answer) => resolved(document, answer)['x-codes'] ?? []),
      ),
    ),
  )

  expect(Object.keys(ERRORS).filter((code) => !answered.has(code as never) && !OUTSIDE.includes(code))).toEqual([])
  expect(OUTSIDE.filter((code) => answered.has(code as never))).toEqual([])
})

test('schemathesis.toml expects only declared statuses and codes', async () => {
  const text = await readFile(new URL('../../../schemathesis.toml', import.meta.url), 'utf8')
  const entries = text.split('[[project.operations]]').slice(1)
  const faults = entries.flatMap((entry) => {
    const ids = [.../include-operation-id = (.*)/.exec(entry)![1]!.matchAll(/"(\w+)"/g)].map(([, id]) => id)
    const declared = every.filter(({ operation }) => ids.includes(operation.operationId))
    const statuses = [...(/expected-statuses = (.*)/.exec(entry)?.[1] ?? '').matchAll(/"(40[09]|422)"/g)]
    const answers = Object.values(documents).flatMap((document) =>
      declared.flatMap(({ operation }) =>
        Object.entries(operation.responses).map(([status, answer]) => ({ status, ...resolved(document, answer) })),
      ),
    )
    const reasons = entry.split('\n').filter((line) => line.startsWith('#'))
    const codes = reasons.flatMap((line) => line.match(/\b[a-z]+(_[a-z]+)+\b/g) ?? [])
    return [
      ...(declared.length === ids.length ? [] : [`${ids.join()}: not all are there`]),
      ...statuses
        .filter(([, status]) => !reasons.some((line) => line.includes(`${status}`)))
        .map(([, status]) => `${ids.join()}: no reason for ${status}`),
      ...codes
        .filter((code) => !answers.some((answer) => answer['x-codes']?.includes(code as never)))
        .map((code) => `${ids.join()}: ${code} is not declared`),
    ]
  })

  expect(faults).toEqual([])
  expect(entries.length).toBeGreaterThan(10)
})

test('creating operations link to what they create', () => {
  const linksOf = (operationId: string) => {
    const { operation } = every.find((one) => one.operation.operationId === operationId)!
    return Object.keys(operation.responses[200]?.links ?? {})
  }

  expect(linksOf('createPool')).toEqual(expect.arrayContaining(['getPool', 'updatePool', 'deletePool']))
  expect(linksOf('provisionSim')).toEqual(expect.arrayContaining(['getTicket', 'cancelTicket']))
  expect(linksOf('createOrder')).toEqual(expect.arrayContaining(['getOrder', 'cancelOrder']))
  expect(linksOf('listSims')).toEqual(expect.arrayContaining(['getSim', 'tagSim']))
})

describe('documentCheck', () => {
  const check = documentCheck(documents.public)
  const headers = { 'x-request-id': 'r', 'content-type': 'application/json; charset=utf-8', etag: '"1.x"' }
  const problem = { type: '/problems/x', title: 't', detail: 'd', instance: '/api/tenant', requestId: 'r' }
  const refused = { ...headers, 'content-type': 'application/problem+json; charset=utf-8' }
  const tenant = { id: 't1', name: 'Ours', billingEmail: 'a@example.com' }
  const answer = { method: 'GET', url: '/api/tenant?x=1', status: 200, headers, body: tenant as unknown }

  test('accepts a response as documented', () => {
    expect(() => check(answer)).not.toThrow()
    expect(() => check({ ...answer, url: '/docs' })).not.toThrow()
  })

  test.each([
    ['a field too many', { body: { ...tenant, more: 1 } }, /additional properties/],
    ['a field too few', { body: { id: 't1', name: 'Ours' } }, /billingEmail/],
    ['a status that is not declared', { status: 202 }, /202 .*is not declared/],
    ['another content type', { headers: { ...headers, 'content-type': 'text/html' } }, /is text\/html/],
    ['no ETag', { headers: { ...headers, etag: undefined } }, /ETag is missing/],
    ['an operation that is not there', { method: 'PUT' }, /no such operation/],
    [
      'a code of another operation',
      { status: 404, headers: refused, body: { ...problem, status: 404, code: 'sim_not_found' } },
      /sim_not_found: getTenant has/,
    ],
    ['a problem that is none', { status: 404, url: '/api/nowhere', headers: refused, body: {} }, /404.*is not as/],
  ])('refuses a response with %s', (_, change, fault) => {
    expect(() => check({ ...answer, ...change })).toThrow(fault)
  })
})
