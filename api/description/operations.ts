/** Adds to every operation what its own schemas do not say: failures, headers, examples, links. */
import { mayBeLeftOut } from '../validation.ts'
import { codesOf, type Declared, problemAnswers, takesOnceKey } from './answers.ts'
import { exampleOf } from './examples.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import { linksOf, type Place } from './links.ts'

/** What the routes declare, by the id of their operation. */
export type Declarations = ReadonlyMap<string, Declared>

const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` })
const header = (name: string) => ({ [name]: { $ref: `#/components/headers/${name}` } })

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

function complete(place: Place, declarations: Declarations): void {
  const { path, method, operation } = place
  const declared = declarations.get(String(operation.operationId))
  if (declared === undefined) throw new Error(`${method} ${path} has no operationId`)
  // Paths without a key have no tenant either, and nothing to be refused.
  const keyed = operation.security === undefined
  const parameters = Array.isArray(operation.parameters) ? operation.parameters : []
  for (const one of parameters) withExample(one)
  if (keyed) parameters.push(...headersOf(method, declared))
  if (parameters.length > 0) operation.parameters = parameters
  completeBody(operation.requestBody)
  operation.responses = {
    ...successes(place, declared),
    ...(keyed ? problemAnswers(codesOf(method, path, declared)) : {}),
  }
}

function headersOf(method: string, declared: Declared): JsonObject[] {
  return [
    ...(declared.tenant === 'none' ? [] : [parameter('X-Tenant-Id')]),
    ...(takesOnceKey(method, declared) ? [parameter('Idempotency-Key')] : []),
    ...(declared.versioned ? [parameter(method === 'get' ? 'If-None-Match' : 'If-Match')] : []),
  ]
}

/** A parameter's example stands beside its schema, where pages and tools look for it. */
function withExample(one: Json): void {
  if (!isObject(one) || !isObject(one.schema)) return
  const example = exampleOf(one.schema)
  if (example !== undefined) one.example = example
}

function completeBody(body: Json | undefined): void {
  if (!isObject(body) || !isObject(body.content)) return
  const media = Object.values(body.content).filter(isObject)
  if (media.every(({ schema }) => mayBeLeftOut(schema))) body.required = false
  for (const one of media) {
    const example = exampleOf(one.schema)
    if (example !== undefined) one.example = example
  }
}

function successes(place: Place, declared: Declared): JsonObject {
  const { responses } = place.operation
  const answers = isObject(responses) ? Object.entries(responses) : []
  const completed: JsonObject = Object.fromEntries(
    answers.flatMap(([status, answer]) => (isObject(answer) ? [[status, success(place, declared, answer)]] : [])),
  )
  if (place.method !== 'get' || !declared.versioned) return completed
  return { ...completed, 304: { $ref: '#/components/responses/NotModified' } }
}

function success(place: Place, declared: Declared, answer: JsonObject): JsonObject {
  const { method } = place
  const { description, content } = answer
  const media = isObject(content) ? Object.values(content).filter(isObject) : []
  const examples = media.map(({ schema }) => exampleOf(schema))
  for (const [i, one] of media.entries()) {
    const example = examples[i]
    if (example !== undefined) one.example = example
  }
  const links = linksOf(place, examples[0])
  return {
    ...answer,
    description: description === 'Default Response' ? 'The answer' : (description ?? ''),
    headers: {
      ...header('X-Request-Id'),
      ...(method === 'get' && declared.versioned ? header('ETag') : {}),
      ...(takesOnceKey(method, declared) ? header('Idempotency-Replayed') : {}),
    },
    ...(Object.keys(links).length > 0 ? { links } : {}),
  }
}
