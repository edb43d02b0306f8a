/** Makes examples from schemas: a schema's first example, or one built from its parts, with text chosen by name. */
import { WORDS } from './example-words.ts'
import { isObject, type Json, type JsonObject } from './json.ts'

/** Examples by format, for a field without its own. */
const OF_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-11-20T12:00:00.000Z',
  date: '2026-11-20',
  email: 'billing@meadow.example',
  uuid: '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
}

/**
 * Makes an example that fits a schema. @param name of the field or parameter @returns undefined if a required part of
 * the schema says too little
 */
export function exampleOf(schema: Json | undefined, name = ''): Json | undefined {
  if (!isObject(schema)) return undefined
  const { anyOf, ...rest } = schema
  const { examples, enum: codes, const: only, properties, items } = rest
  if (Array.isArray(examples)) return examples[0]
  if (only !== undefined) return only
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(codes)) return codes[0]
  if (Array.isArray(anyOf)) return isObject(anyOf[0]) ? exampleOf({ ...rest, ...anyOf[0] }, name) : undefined
  switch (typeOf(schema)) {
    case 'object':
      return isObject(properties) ? ofProperties(properties, schema.required) : {}
    case 'array': {
      const item = exampleOf(items, name)
      return item === undefined ? undefined : [item]
    }
    case 'string':
      return typeof schema.format === 'string' ? OF_FORMAT[schema.format] : WORDS[name]
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 0
    case 'boolean':
      return false
    case undefined:
      // Anything fits.
      return null
    default:
      return undefined
  }
}

/** The example of an optional parameter. The page at /docs shows it, but leaves it out of the request that it shows. */
export const sparedExample = (value: Json): JsonObject => ({ example: { value, 'x-disabled': true } })

function typeOf({ type }: JsonObject): string | undefined {
  const first = Array.isArray(type) ? type[0] : type
  return typeof first === 'string' ? first : undefined
}

/** All fields that have an example. Returns undefined if a required field has none. */
function ofProperties(properties: JsonObject, required: Json | undefined): JsonObject | undefined {
  const fields = Object.entries(properties).map(([name, field]) => [name, exampleOf(field, name)] as const)
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  if (fields.some(([name, value]) => value === undefined && isRequired(name))) return undefined
  return Object.fromEntries(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
