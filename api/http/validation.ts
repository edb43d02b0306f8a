/**
 * Validates requests, with two validators. Bodies are taken as they are: nothing is coerced or removed, but the filler of
 * an ICCID. Query and path arrive as text, and are converted to the types of their schemas.
 *
 * Fastify's own validator would silently turn `"2"` into 2 and drop unknown fields of a body.
 */
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { Ajv, type ErrorObject, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import serializerOf from 'fast-json-stringify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { withoutFiller } from '../../domain/identifiers.ts'
import { instantMs, isDay } from '../../domain/instant.ts'
import { emailLengthFault } from '../../domain/text.ts'

/** Verbose: failures carry their schema, whose description has the expected values. */
const COMMON: Options = { verbose: true, strict: true, strictRequired: false, allowUnionTypes: true }

const ofLibrary = addFormats.default(new Ajv(), ['date-time', 'email'])
const isRfc3339 = ofLibrary.compile<string>({ type: 'string', format: 'date-time' })
const isEmail = ofLibrary.compile<string>({ type: 'string', format: 'email' })

/** Takes the filler off an ICCID, in place (domain/schema.ts: Iccid). */
const WITHOUT_FILLER: FuncKeywordDefinition = {
  keyword: 'x-iccid',
  type: 'string',
  modifying: true,
  validate: (_: true, iccid: string, __, place) => {
    if (place !== undefined) place.parentData[place.parentDataProperty] = withoutFiller(iccid)
    return true
  },
}

function validatorOf(options: Options): Ajv {
  const ajv = new Ajv({ ...COMMON, ...options })
  addFormats.default(ajv, ['uuid'])
  ajv.addFormat('email', (text) => isEmail(text) && emailLengthFault(text) === undefined)
  ajv.addFormat('date', isDay)
  // The library accepts leap seconds, the year 0 and offsets without minutes. None of them is an instant here.
  ajv.addFormat('date-time', (text) => isRfc3339(text) && instantMs(text) !== undefined)
  ajv.addKeyword(WITHOUT_FILLER)
  return ajv
}

/** Most values of a body in which every fault is looked for. A longer list could have a million faults. */
const MOST_LOOKED_THROUGH = 20_000

/** Each compiles a schema once a process, whichever listener needs it. */
const upToFirst = validatorOf({ coerceTypes: false })
const strict = validatorOf({ coerceTypes: false, allErrors: true })
const textual = validatorOf({ coerceTypes: true, useDefaults: true, allErrors: true })

/** Has ajv's interface: Fastify, and a caller that compiles a schema, expect true or false, and read `errors`. */
interface Check {
  (value: unknown): boolean
  errors?: ErrorObject[]
}

/**
 * Makes an application validate its requests as described above. Schemas are compiled when they are first needed: all of
 * them take half of the processor time of a start.
 */
export function useValidation(app: FastifyInstance): void {
  app.setValidatorCompiler<Record<string, unknown>>(({ schema, httpPart }) => {
    const validate = (value: unknown): ValidateFunction | undefined => {
      const fits = (httpPart === 'body' ? upToFirst : textual).compile(schema)
      if (fits(value)) return undefined
      if (httpPart !== 'body' || hasMoreValues(value, MOST_LOOKED_THROUGH)) return fits
      const faultsOf = strict.compile(schema)
      return faultsOf(value) ? fits : faultsOf
    }
    const isFit: Check = (value) => {
      const failed = validate(value)
      isFit.errors = failed?.errors ?? []
      return failed === undefined
    }
    return isFit
  })
  app.setSerializerCompiler<object>(({ schema }) => {
    let serialize: ReturnType<typeof serializerOf> | undefined
    return (answer) => {
      serialize ??= serializerOf(schema)
      return serialize(answer)
    }
  })
  app.addHook('preValidation', async (request) => {
    refuseOtherBytes(request)
    dropEmptyFilters(request)
    if (mayBeLeftOut(request.routeOptions.schema?.body)) request.body ??= {}
    refuseUnstorable(request.query, 'query')
    refuseUnstorable(request.body, 'body')
    refuseUnstorable(request.params, 'path')
  })
}

/**
 * For tests: fails a response that differs from what its handler meant. A serializer made from a schema silently leaves
 * out, rounds and replaces what the schema does not have.
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

/** Whether all fields of a body are optional. Then no body means the same as an empty one. */
export const mayBeLeftOut = (body: unknown): boolean =>
  isRecord(body) && body.type === 'object' && [body.required ?? []].flat().length === 0

/** Whether a value contains more than `most` values. */
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

/**
 * Refuses a query with invalid UTF-8 in percent signs. Its parser would take them for text with percent signs. A
 * percent sign that encodes nothing stands for itself. The router does the same for paths.
 *
 * @throws ServiceError invalid_request with the parameter
 */
function refuseOtherBytes({ url, routeOptions }: FastifyRequest): void {
  if (routeOptions.schema?.querystring === undefined) return
  for (const part of url.slice(url.indexOf('?') + 1).split('&')) {
    if (!/%[89a-f]/i.test(part) || isEncodedText(part)) continue
    const [name = '', value = name] = part.split('=', 2)
    const detail = `got '${value}', which is not UTF-8: percent-encode the bytes of UTF-8`
    throw new ServiceError('invalid_request', `${name}: ${detail}.`, { errors: [{ parameter: name, detail }] })
  }
}

function isEncodedText(part: string): boolean {
  try {
    decodeURIComponent(part.replace(/%(?![\da-f]{2})/gi, '%25'))
    return true
  } catch {
    return false
  }
}

/** Removes filters without a value (`?search=`): they count as absent. */
function dropEmptyFilters(request: FastifyRequest): void {
  if (!isRecord(request.query)) return
  for (const [name, value] of Object.entries(request.query)) {
    if (value === '') delete request.query[name]
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/**
 * Refuses text that the database cannot keep: U+0000 and unpaired surrogates. Checked here, so that no statement fails
 * on it. The reader of a streamed body checks each of its records.
 *
 * @throws ServiceError invalid_request
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
