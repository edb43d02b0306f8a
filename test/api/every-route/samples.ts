/** The operations as an OpenAPI document has them, and bodies that fit. */
import { internalOpenapiDocument, openapiDocument } from '../../../api/openapi.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly minimum?: number
  readonly minLength?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}
interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}
export type Paths = Record<string, Record<string, Operation>>

/** By listener. */
export const PATHS = {
  outside: ((await openapiDocument()) as { paths: Paths }).paths,
  inside: ((await internalOpenapiDocument()) as { paths: Paths }).paths,
}
export const LISTENERS = ['outside', 'inside'] as const
export type Listener = keyof typeof PATHS

const FORMATS: Record<string, string> = { email: 'a@example.com', 'date-time': '2026-11-20T12:00:00Z', uuid: '1' }

/** A value that fits a schema. */
export function sample(schema: Schema): unknown {
  if (schema.enum !== undefined) return schema.enum[0]
  const type = [schema.type ?? 'null'].flat()[0]
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'string') return FORMATS[schema.format ?? ''] ?? 'a'.repeat(schema.minLength ?? 1)
  if (type === 'array') return schema.items === undefined ? [] : [sample(schema.items)]
  if (type !== 'object') return null
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, field]) => [name, sample(field)]))
}

/** @param segment in place of each parameter */
export const fill = (path: string, segment: string): string => path.replaceAll(/\{\w+\}/g, segment)
