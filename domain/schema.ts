/** Building blocks for the schemas of resources. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { ICCID } from './identifiers.ts'
import { LABEL_PATTERN, MOST_EMAIL } from './text.ts'

/** An object with these fields and no others. */
export const strictObject = <T extends TProperties>(
  properties: T,
  options: { description?: string; examples?: readonly Static<TObject<T>>[] } = {},
) => Type.Object(properties, { ...options, additionalProperties: false })

/** The same with an example, for the OpenAPI document. */
export const objectWithExample = <T extends TProperties>(properties: T, example: Static<TObject<T>>) =>
  strictObject(properties, { examples: [example] })

export const Text = (description: string, example: string, more: { minLength?: number; maxLength?: number } = {}) =>
  Type.String({ ...more, description, examples: [example] })

/** A name, a tag, or another short text that a caller gives and people read in one line: without control characters. */
export const Label = (
  description: string,
  example: string,
  more: { readonly minLength?: number; readonly maxLength: number },
) => Type.String({ ...more, pattern: LABEL_PATTERN, description, examples: [example] })

/** An e-mail address, of a length that mail servers and the DNS take (api/http/validation.ts). */
export const Email = (description: string) => Type.String({ format: 'email', maxLength: MOST_EMAIL, description })

/** The name of a time zone; local-time.ts knows whether there is one. `+02:00` is no name: it has no summer time. */
export const TimeZone = (description: string) =>
  Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_+\\-/]*$', maxLength: 64, description, examples: ['Europe/Berlin'] })

/** An ICCID in a request. The validator takes the filler off (`x-iccid`, api/http/validation.ts). */
export const Iccid = (description: string) =>
  Type.String({
    pattern: ICCID.source,
    'x-iccid': true,
    description: `${description}: 18 to 22 digits; F behind them is filler`,
  })

type Typed = TSchema & { readonly type?: string; readonly enum?: readonly unknown[] }

/** A value or null, as two types and no union: a wrong value gets one message. @throws Error without a type */
export function nullable<T extends Typed>(schema: T) {
  if (schema.type === undefined) throw new Error('nullable takes a schema with a type')
  return Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [schema.type, 'null'],
    ...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
  })
}

/** A field of a request that may be omitted. Null counts as omitted. */
export const optional = <T extends Typed>(schema: T) => Type.Optional(nullable(schema))

/** A pattern that matches any of these words, in upper or lower case. */
export const anyCase = (words: readonly string[]): string =>
  `^(${words.map((word) => word.replaceAll(/[a-z]/gi, (c) => `[${c.toUpperCase()}${c.toLowerCase()}]`)).join('|')})$`

/** One of these words. */
export const oneOf = <const T extends readonly string[]>(values: T, description?: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...(description !== undefined && { description }) })

/** An instant: ISO 8601 in UTC. */
export const Instant = (description: string) => Type.String({ format: 'date-time', description })

export const Count = (description: string) => Type.Integer({ minimum: 0, description })

/** An identifier: a positive integer. */
export const Id = (description: string) => Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** Response to most changes: the id of the created or changed thing. */
export const IdResponse = strictObject({ id: Id('Id of the created or changed object') })

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const Actor = Type.String({
  maxLength: 300,
  description:
    'Caller: key:<id>, cli:<user>@<host> for a command, service:<process> for the service itself, mail-link for a link in a mail',
  examples: ['key:6a34354728b4'],
})
/** Beside an actor, in a field of its name with `Name` behind it. */
export const KeyName = nullable(
  Text('Present name of the API key of that actor; null: it is none, or the actor came without one', 'Night shift'),
)
export const KeyId = Type.String({ maxLength: 100, description: 'Id of the API key of the request' })
export const RequestId = Type.String({ maxLength: 128, description: 'X-Request-Id of the request' })

/** A list of which an answer has the first entries, and the number of further ones. */
export const firstOfList = <T extends TSchema>(of: T, what: string, most: number) =>
  strictObject({
    count: Count(what),
    first: Type.Array(of, { maxItems: most, description: `The first ${most}` }),
    more: Count('Number of further entries'),
  })
