/** Every failure is sent as `application/problem+json` (RFC 9457). */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { type Static, Type } from 'typebox'
import { ERROR_CODES, ERRORS, type ErrorCode, type FieldError, ServiceError } from '../../domain/errors.ts'
import { quote } from '../../domain/quote.ts'
import { oneOf, strictObject } from '../../domain/schema.ts'
import { faultText, withPlace } from '../../domain/schema-fault.ts'
import { isAway } from '../../store/away.ts'
import { takenBy, unsupported } from './bodies.ts'
import { noteRefusal } from './request-log.ts'

export const Problem = strictObject({
  type: Type.String({ description: 'Relative URL of the description of the code' }),
  title: Type.String({ description: 'The kind of failure' }),
  status: Type.Integer({ description: 'HTTP status' }),
  detail: Type.String({ description: 'The fault in this request, and the remedy' }),
  instance: Type.String({ description: 'Path of the request' }),
  code: oneOf(ERROR_CODES, 'Stable code'),
  errors: Type.Optional(
    Type.Array(
      strictObject({
        pointer: Type.Optional(Type.String({ description: 'JSON pointer into the body' })),
        parameter: Type.Optional(Type.String({ description: 'Name of a path, query or header parameter' })),
        code: Type.Optional(oneOf(ERROR_CODES, 'Code for this row of a list')),
        detail: Type.String(),
      }),
      {
        description: 'The wrong fields: as many as fit in 24 KB; the first 100 if a body does not match its schema',
      },
    ),
  ),
  requestId: Type.String({ description: 'Id of this request in the logs' }),
})
export type Problem = Static<typeof Problem>

/** Seconds for the `Retry-After` header, for the codes that have one. */
const RETRY_AFTER: Partial<Record<ErrorCode, number>> = {
  idempotency_in_progress: 1,
  quota_exceeded: 30,
  unavailable: 5,
}

/** Makes an application send all failures as problems. */
export function useProblems(app: FastifyInstance): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => sendProblem(request, reply, asServiceError(error)))
  app.setNotFoundHandler((request, reply) =>
    sendProblem(request, reply, new ServiceError('not_found', `There is no ${request.url.split('?')[0]}.`)),
  )
}

/** Limits of the texts in a problem, in bytes of JSON: together less than 28 KB. */
const MOST_BYTES = { detail: 2000, instance: 1000, place: 500, fieldDetail: 1000, errors: 24_000 } as const

/** Responds with a failure. Its cause goes to the log, never to the caller. Shortens its texts for both. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: ServiceError): FastifyReply {
  const { status, title } = ERRORS[error.code]
  const errors = quotedErrors(error.errors)
  const others = error.errors.length - errors.length
  const more = others === 0 ? '' : ` The first ${errors.length} of ${error.errors.length} are in errors.`
  const detail = `${quote(error.message, MOST_BYTES.detail)}${more}`
  if (status >= 500) request.log.error({ err: error.cause ?? error }, detail)
  noteRefusal(request, { code: error.code, detail })
  if (error.code === 'unsupported_media_type') reply.headers(takenBy(request, error))
  const retryAfter = error.retryAfter ?? RETRY_AFTER[error.code]
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  if (status === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', 'Bearer realm="simherd"')
  const problem: Problem = {
    type: `/problems/${error.code}`,
    title,
    status,
    detail,
    instance: quote(request.url.split('?')[0] ?? '/', MOST_BYTES.instance),
    code: error.code,
    ...(errors.length === 0 ? {} : { errors }),
    requestId: request.id,
  }
  // Serialized here: a route's own schemas do not describe failures.
  return reply.code(status).type('application/problem+json; charset=utf-8').serializer(JSON.stringify).send(problem)
}

/** The first fields of these, each of them bounded, that together are no larger than the bound. */
function quotedErrors(errors: readonly FieldError[]): FieldError[] {
  const quoted: FieldError[] = []
  let bytes = 0
  for (const { pointer, parameter, detail, ...rest } of errors) {
    const field = {
      ...(pointer !== undefined && { pointer: quote(pointer, MOST_BYTES.place) }),
      ...(parameter !== undefined && { parameter: quote(parameter, MOST_BYTES.place) }),
      ...rest,
      detail: quote(detail, MOST_BYTES.fieldDetail),
    }
    bytes += Buffer.byteLength(JSON.stringify(field)) + 1
    if (bytes > MOST_BYTES.errors) break
    quoted.push(field)
  }
  return quoted
}

/**
 * The value that was found.
 *
 * @param what kind and id of the missing object, as in "There is no pool 5."
 * @throws ServiceError of this code for undefined
 */
export function mustBeFound<T>(found: T | undefined, code: ErrorCode, what: string): T {
  if (found === undefined) throw new ServiceError(code, `There is no ${what}.`)
  return found
}

/** The caller's error for any thrown value. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const failure = (code: ErrorCode, message: string) => new ServiceError(code, message, { cause: error })
  if (error instanceof Error) {
    const known = isFastifyError(error) ? fromFastify(error) : undefined
    if (known !== undefined) return known
    if (isBrokenOff(error)) {
      return failure('unavailable', 'The database took too long over this and broke it off; try again.')
    }
    if (isAway(error)) return failure('unavailable', 'The database cannot be reached right now. Try again.')
  }
  return failure('internal_error', 'The service failed on this request; its log says why under the request id.')
}

const isFastifyError = (error: Error): error is FastifyError => 'code' in error || 'validation' in error

function fromFastify(error: FastifyError): ServiceError | undefined {
  if (error.validation !== undefined) return invalid(error.validation, error.validationContext ?? 'body')
  const { statusCode = 500 } = error
  switch (statusCode) {
    case 400:
      return new ServiceError('invalid_request', `The request cannot be read: ${error.message}`)
    case 413:
      return new ServiceError('payload_too_large', 'The body is larger than this path takes: send it in parts.')
    case 415:
      return unsupported('Content-Type', 'expected a media type, such as application/json')
    default:
      return undefined
  }
}

/** Most faults in one response. More is not useful. */
const MOST_ERRORS = 100

/** The error for faults found by a schema in a part of a request: the first hundred fields, the number of the rest. */
export function invalid(faults: readonly FastifySchemaValidationError[], part: string): ServiceError {
  // One line is enough for a choice: not why each of its alternatives did not fit.
  const plain = faults.some(({ keyword }) => keyword === 'anyOf')
    ? faults.filter(({ keyword, schemaPath }) => keyword === 'anyOf' || !schemaPath.includes('/anyOf/'))
    : faults
  // One fault is enough for a field: a value of the wrong type is also not in the table of codes.
  const first = new Map<string, Fault>()
  for (const fault of plain) {
    const place = placeOf(fault)
    if (!first.has(place)) first.set(place, fault)
  }
  const errors = [...first].slice(0, MOST_ERRORS).map(([place, fault]): FieldError => {
    const detail = detailOf(fault, faults)
    return part === 'body' ? { pointer: place, detail } : { parameter: place.slice(1), detail }
  })
  const texts = errors.map(({ pointer, parameter, detail }) => withPlace(parameter ?? (pointer || part), detail))
  const others = first.size - errors.length
  if (others > 0) texts.push(`and ${others} more`)
  return new ServiceError('invalid_request', `${texts.join('; ')}.`, { errors })
}

type Fault = FastifySchemaValidationError

/** JSON pointer to the field of a fault. Bounded here too: a long name would be in the texts of a hundred faults. */
function placeOf({ instancePath, params }: Fault): string {
  const missing = params.missingProperty ?? params.additionalProperty
  return quote(`${instancePath}${typeof missing === 'string' ? `/${missing}` : ''}`, MOST_BYTES.place)
}

/** A choice between formats is one fault; without formats, its description says what is expected. */
function detailOf(fault: Fault, faults: readonly Fault[]): string {
  const { keyword, params, schemaPath } = fault
  // Verbose faults of ajv have more than their type says (validation.ts).
  const { data: value, parentSchema: schema }: { readonly data?: unknown; readonly parentSchema?: unknown } =
    Object(fault)
  const found = { value, schema }
  const formats =
    keyword === 'anyOf'
      ? faults.filter((other) => other.keyword === 'format' && other.schemaPath.startsWith(schemaPath))
      : []
  return formats.length > 0
    ? faultText({ ...found, keyword: 'format', params: { format: formats.map((other) => other.params['format']) } })
    : faultText({ ...found, keyword, params })
}

/** Whether PostgreSQL ended a statement, a wait for a lock or an idle transaction for taking too long. */
const isBrokenOff = (error: Error): boolean => 'code' in error && /^(57014|55P03|25P03)$/.test(String(error.code))
