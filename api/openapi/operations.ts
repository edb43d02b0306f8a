/** Adds to every operation what its schemas do not say: failures, headers, examples, links. */
import { mayBeLeftOut } from '../http/validation.ts'
import { exampleOf, sparedExample } from './examples.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import { type LinkPlace, linksOf } from './links.ts'
import {
  codesOf,
  type Declaration,
  headers,
  LIMIT_HEADERS,
  problemResponses,
  takesIdempotencyKey,
} from './responses.ts'

/** The declarations of the routes, by operation id. */
export type Declarations = ReadonlyMap<string, Declaration>

const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` })

export function completed(paths: Json, declarations: Declarations): Json {
  if (!isObject(paths)) return paths
  for (const [path, item] of Object.entries(paths)) {
    if (!isObject(item)) continue
    for (const [method, operation] of Object.entries(item)) {
      if (isObject(operation)) complete({ paths, path, method, operation }, declarations)
    }
  }
  return paths
}

function complete(place: LinkPlace, declarations: Declarations): void {
  const { path, method, operation } = place
  const { operationId } = operation
  const declared = typeof operationId === 'string' ? declarations.get(operationId) : undefined
  if (declared === undefined) throw new Error(`${method} ${path} has no operationId`)
  // A path without a key has no tenant, and no key problems to list.
  const keyed = operation.security === undefined
  const parameters = Array.isArray(operation.parameters) ? operation.parameters : []
  for (const one of parameters) completeParameter(one, declared)
  if (keyed) parameters.push(...headersOf(method, declared))
  if (parameters.length > 0) operation.parameters = parameters
  completeBody(operation.requestBody, declared)
  const opening = declared.isOpenTo
  if (opening !== undefined) operation.description = `${textOf(operation.description)}${KEYS[opening]}`
  operation.responses = {
    ...successes(place, declared),
    ...(keyed ? problemResponses(codesOf(method, path, declared)) : {}),
  }
}

const KEYS = {
  read: 'Takes keys of the tenant: those that read, and those with the scope `billing`.',
  admin: 'Takes keys of the tenant with the scope `billing` or `admin`.',
  billing: 'Takes keys of the tenant with the scope `billing`.',
} as const

const textOf = (description: Json | undefined): string =>
  typeof description === 'string' && description !== '' ? `${description} ` : ''

function headersOf(method: string, declared: Declaration): JsonObject[] {
  return [
    ...(declared.tenant === 'none' ? [] : [parameter('X-Tenant-Id')]),
    ...(takesIdempotencyKey(method, declared) ? [parameter('Idempotency-Key')] : []),
    ...(declared.versioned === true ? [parameter(method === 'get' ? 'If-None-Match' : 'If-Match')] : []),
  ]
}

/** Puts the example next to the schema, where pages and tools look for it. Allows an empty value for a filter. */
function completeParameter(one: Json, { also }: Declaration): void {
  if (!isObject(one) || !isObject(one.schema)) return
  if (typeof one.name === 'string') Object.assign(one.schema, also?.parameters?.[one.name])
  if (one.in === 'query' && one.required !== true) one.allowEmptyValue = true
  const example = one.example ?? exampleOf(one.schema, typeof one.name === 'string' ? one.name : '')
  if (example === undefined) return
  delete one.example
  if (one.required === true) one.example = example
  else one.examples = sparedExample(example)
}

/** Describes a body. A file has no schema but text. A body with only optional fields may be null or absent. */
function completeBody(body: Json | undefined, { files = {}, also = {} }: Declaration): void {
  if (!isObject(body) || !isObject(body.content)) return
  for (const [type, media] of Object.entries(body.content)) {
    if (!isObject(media) || !isObject(media.schema)) continue
    if (type !== 'application/json') {
      const example = files[type]
      // NDJSON is never refused as a whole: a line without a record is rejected alone.
      const schema = type === 'text/csv' ? { type: 'string' } : { description: 'A record a line' }
      body.content[type] = { schema, ...(example === undefined ? {} : { example }) }
      continue
    }
    illustrate(media)
    if (also.needed !== true && mayBeLeftOut(media.schema)) {
      body.required = false
      media.schema = { ...media.schema, type: ['object', 'null'] }
    }
    // Next to the schema, not in it: a schema is recognised by its whole content, and so keeps its name.
    if (also.body !== undefined) media.schema = { allOf: [media.schema, also.body] }
  }
}

/** Puts an example next to a schema. An example of the schema's own has already been moved there. */
function illustrate(media: JsonObject): void {
  const example = media.example ?? exampleOf(media.schema)
  if (example !== undefined) media.example = example
}

function successes(place: LinkPlace, declared: Declaration): JsonObject {
  const { responses } = place.operation
  const answers = isObject(responses) ? Object.entries(responses) : []
  const completed: JsonObject = Object.fromEntries(
    answers.flatMap(([status, answer]) => (isObject(answer) ? [[status, success(place, declared, answer)]] : [])),
  )
  if (place.method !== 'get' || declared.versioned !== true) return completed
  return { ...completed, 304: { $ref: '#/components/responses/NotModified' } }
}

/** Whether the list goes on by cursors. */
const isWalked = ({ operation: { parameters } }: LinkPlace): boolean =>
  Array.isArray(parameters) && parameters.some((one) => isObject(one) && one.in === 'query' && one.name === 'cursor')

function success(place: LinkPlace, declared: Declaration, answer: JsonObject): JsonObject {
  const { method } = place
  const { description, content } = answer
  const media = isObject(content) ? Object.values(content).filter(isObject) : []
  for (const one of media) illustrate(one)
  const links = linksOf(place, media[0]?.example)
  return {
    ...answer,
    description: description === 'Default Response' ? 'The answer' : (description ?? ''),
    headers: {
      ...headers('X-Request-Id'),
      ...(method === 'get' && declared.versioned === true ? headers('ETag') : {}),
      ...(isWalked(place) ? headers('Link') : {}),
      ...(takesIdempotencyKey(method, declared) ? headers('Idempotency-Replayed') : {}),
      ...(declared.limited ? LIMIT_HEADERS : {}),
    },
    ...(Object.keys(links).length > 0 ? { links } : {}),
  }
}
