/** What a schema finds wrong with a value, in words: the same for bodies, queries, and records of files. Pure. */
import { counted } from './quantity.ts'
import { quote } from './quote.ts'
import { controlFault, emailLengthFault, LABEL_PATTERN } from './text.ts'

/** A fault as ajv and typebox report it. */
export interface SchemaFault {
  /** The keyword of JSON Schema that failed. */
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  /** The value with the fault; undefined if it is missing. */
  readonly value: unknown
  /** The schema of the value; undefined if unknown. */
  readonly schema: unknown
}

/** Most bytes shown of a value. */
const SHOWN = 60

/**
 * A fault in words that follow the name of the field, such as `got 7, expected 0 (Disabled), 1 (Monitor) or 2 (Enforce)`.
 * Secrets in the value are hidden.
 */
export function faultText(fault: SchemaFault): string {
  const { keyword, params, value } = fault
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'is not a field of this request'
  if (typeof value === 'string') {
    const why =
      params.pattern === LABEL_PATTERN
        ? controlFault(value)
        : params.format === 'email'
          ? emailLengthFault(value)
          : undefined
    if (why !== undefined) return why
  }
  return `got ${gotText(fault)}, expected ${expectedText(fault)}`
}

/** The place of a fault and the fault, as a sentence without its full stop. */
export const withPlace = (place: string, text: string): string =>
  `${place}${/^(is|has|are) /.test(text) ? '' : ':'} ${text}`

/** A fault as typebox reports it. */
interface FoundFault {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
}

/** The faults of a record without inner objects, each with the name of its field. @param fields schemas by name */
export const recordFaults = (
  found: readonly FoundFault[],
  record: unknown,
  fields: Readonly<Record<string, unknown>>,
): string[] =>
  found.flatMap(({ keyword, instancePath, params }): string[] => {
    const name = instancePath.slice(1)
    // An unknown field is reported twice: by its name, and among all of them.
    if (keyword === 'additionalProperties') return []
    if (keyword === 'boolean') return [`${quote(name, SHOWN)} is not a field of this record`]
    if (keyword === 'required')
      return [params['requiredProperties']].flat().map((missing) => `${String(missing)} is required`)
    const value: unknown = name === '' ? record : Object(record)[name]
    return [withPlace(name || 'record', faultText({ keyword, params, value, schema: fields[name] }))]
  })

function gotText({ keyword, value }: SchemaFault): string {
  if (typeof value === 'string') {
    return keyword.endsWith('Length')
      ? counted(Array.from(value).length, 'character')
      : quote(JSON.stringify(value), SHOWN)
  }
  if (Array.isArray(value)) return keyword.endsWith('Items') ? counted(value.length, 'item') : 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** What a failed keyword expects; `limit` is its value. */
const LIMITS: Readonly<Record<string, (limit: number) => string>> = {
  minLength: (limit) => `at least ${counted(limit, 'character')}`,
  maxLength: (limit) => `at most ${counted(limit, 'character')}`,
  minItems: (limit) => `at least ${counted(limit, 'item')}`,
  maxItems: (limit) => `at most ${counted(limit, 'item')}`,
  minProperties: (limit) => `at least ${counted(limit, 'field')}`,
  maxProperties: (limit) => `at most ${counted(limit, 'field')}`,
  minimum: (limit) => `at least ${limit}`,
  maximum: (limit) => `at most ${limit}`,
  exclusiveMinimum: (limit) => `more than ${limit}`,
  exclusiveMaximum: (limit) => `less than ${limit}`,
}

const TYPES: Readonly<Record<string, string>> = {
  integer: 'an integer',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

const FORMATS: Readonly<Record<string, string>> = {
  date: 'a day such as 2026-11-20',
  'date-time': 'an instant such as 2026-11-20T12:00:00Z',
  email: 'an e-mail address',
  uuid: 'a UUID',
}

/** The values that a schema enumerates; none if it is no enumeration. */
export function enumerated(schema: unknown): readonly unknown[] {
  const { enum: allowed }: { readonly enum?: unknown } = Object(schema)
  return Array.isArray(allowed) ? allowed : []
}

/** What a schema expects as a whole: the words or codes that it enumerates, or its description. */
export function schemaText(schema: unknown): string {
  const { description }: { readonly description?: unknown } = Object(schema)
  const allowed = enumerated(schema)
  if (allowed.length > 0) return oneOfValues(allowed, description)
  return typeof description === 'string' ? description : 'another value'
}

function expectedText({ keyword, params, schema }: SchemaFault): string {
  const isEnumerated = enumerated(schema).length > 0
  if (keyword === 'enum' && !isEnumerated) return oneOfValues([params.allowedValues].flat())
  if (keyword === 'type' && isEnumerated) return schemaText(schema)
  const limit = LIMITS[keyword]?.(Number(params.limit))
  if (limit !== undefined) return limit
  if (keyword === 'type') return oneOfTexts([params.type].flat().map((type) => TYPES[String(type)] ?? String(type)))
  if (keyword === 'format') {
    return oneOfTexts([params.format].flat().map((format) => FORMATS[String(format)] ?? String(format)))
  }
  if (keyword === 'const') return JSON.stringify(params.allowedValue)
  if (keyword === 'uniqueItems') return 'each item once'
  return schemaText(schema)
}

/** Words or codes, as alternatives. The description of a code's schema has its labels (domain/codes.ts). */
function oneOfValues(allowed: readonly unknown[], description?: unknown): string {
  const labels = new Map(
    [...String(description).matchAll(/(\d+) = ([^,]+)/g)].map(([, code = '', label = '']) => [code, label]),
  )
  const texts = allowed
    .filter((value) => value !== null)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  return oneOfTexts(texts.map((text) => (labels.has(text) ? `${text} (${labels.get(text)})` : text)))
}

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** Alternatives: `0, 1 or 2`. */
const oneOfTexts = (texts: readonly string[]): string => ALTERNATIVES.format(texts)
