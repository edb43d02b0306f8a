/**
 * What requests are checked with. Two validators: bodies are taken as they are (no coercion, nothing
 * removed), query and path arrive as text and are read as the types their schemas say.
 *
 * Fastify's own validator would turn `"2"` into 2 and drop unknown fields of a body without a word.
 */
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { Ajv, type ErrorObject, type Options } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { instantMs, isDay } from '../../domain/instant.ts'

/** Verbose: failures carry the schema they are of, whose words say what was expected. */
const COMMON: Options = { verbose: true, strict: true, strictRequired: false, allowUnionTypes: true }

const isRfc3339 = addFormats.default(new Ajv(), ['date-time']).compile<string>({ type: 'string', format: 'date-time' })

function validatorOf(options: Options): Ajv {
  const ajv = new Ajv({ ...COMMON, ...options })
  addFormats.default(ajv, ['email', 'uuid'])
  ajv.addFormat('date', isDay)
  // Leap seconds, the year 0 and offsets without minutes are well-formed to the library, and no instant to anybody here.
  ajv.addFormat('date-time', (text) => isRfc3339(text) && instantMs(text) !== undefined)
  return ajv
}

/** Values of a body in which every fault is looked for: a list that is longer may be wrong a million times. */
const MOST_LOOKED_THROUGH = 20_000

/** Has an application check its requests as this file says. */
export function useValidation(app: FastifyInstance): void {
  const upToFirst = validatorOf({ coerceTypes: false })
  const strict = validatorOf({ coerceTypes: false, allErrors: true })
  const textual = validatorOf({ coerceTypes: true, useDefaults: true, allErrors: true })
  app.setValidatorCompiler<Record<string, unknown>>(({ schema, httpPart }) => {
    if (httpPart !== 'body') return textual.compile(schema)
    const [fits, faultsOf] = [upToFirst.compile(schema), strict.compile(schema)]
    // As those of ajv: who compiles one by itself asks whether it answers true, and reads its errors.
    const isFit: { (body: unknown): boolean; errors?: ErrorObject[] } = (body) => {
      if (fits(body)) return true
      isFit.errors = (hasMoreValues(body, MOST_LOOKED_THROUGH) || faultsOf(body) ? fits : faultsOf).errors ?? []
      return false
    }
    return isFit
  })
  app.addHook('preValidation', async (request) => {
    dropEmptyFilters(request)
    if (mayBeLeftOut(request.routeOptions.schema?.body)) request.body ??= {}
    refuseUnstorable(request.query, 'query')
    refuseUnstorable(request.body, 'body')
    refuseUnstorable(request.params, 'path')
  })
}

/**
 * Has an application fail where what it sends is not what a handler meant: a serializer made from a schema leaves out,
 * rounds and replaces without a word what the schema does not have. For tests.
 */
export function useResponseChecks(app: FastifyInstance): void {
  const meant = new WeakMap<FastifyRequest, unknown>()
  app.addHook('preSerialization', async (request, _reply, answer) => {
    meant.set(request, JSON.parse(JSON.stringify(answer)))
    return answer
  })
  app.addHook('onSend', async (request, _reply, payload) => {
    const answer = meant.get(request)
    if (answer === undefined || typeof payload !== 'string' || payload === '') return payload
    meant.delete(request)
    const sent: unknown = JSON.parse(payload)
    if (isDeepStrictEqual(sent, answer)) return payload
    throw new Error(`${request.method} ${request.url} sends ${payload} and means ${JSON.stringify(answer)}`)
  })
}

/** Whether a body has only optional fields: then none at all says as much as an empty one. */
export const mayBeLeftOut = (body: unknown): boolean =>
  isRecord(body) && body.type === 'object' && (body.required === undefined || isEmpty(body.required))

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** Whether there are more values in this one than so many. */
function hasMoreValues(value: unknown, most: number): boolean {
  const rest = [value]
  for (let seen = 0; rest.length > 0; seen++) {
    const next = rest.pop()
    if (seen > most) return true
    if (!isRecord(next)) continue
    const inside = Object.values(next)
    if (seen + inside.length > most) return true
    rest.push(...inside)
  }
  return false
}

/** A filter without a value (`?search=`) counts as absent. */
function dropEmptyFilters(request: FastifyRequest): void {
  if (!isRecord(request.query)) return
  for (const [name, value] of Object.entries(request.query)) {
    if (value === '') delete request.query[name]
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/**
 * Text no database keeps: U+0000 and halves of surrogate pairs. Told apart here, not by a failed statement.
 * A body that is streamed is looked at record by record by who reads it.
 */
function refuseUnstorable(value: unknown, where: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw new ServiceError('invalid_request', `The ${where} has text with U+0000 or half a surrogate pair in it`)
    }
  } else if (Array.isArray(value)) {
    for (const item of value) refuseUnstorable(item, where)
  } else if (isRecord(value) && !(value instanceof Readable)) {
    for (const [name, item] of Object.entries(value)) {
      refuseUnstorable(name, where)
      refuseUnstorable(item, where)
    }
  }
}
