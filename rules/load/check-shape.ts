/** Checks a value against a schema, field by field. Each wrong field is reported once and in words. */
import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { didYouMean } from '../../domain/did-you-mean.ts'
import { enumerated, schemaText } from '../../domain/schema-fault.ts'
import { below, isRecord, type Report } from './faults.ts'

const wordsOf = (schema: TSchema): string[] => enumerated(schema).filter((word) => typeof word === 'string')

/** Reports faults against the schema. @returns whether there are none */
export function checkShape(schema: TSchema, value: unknown, pointer: string, report: Report): boolean {
  if (Type.IsObject(schema) && isRecord(value)) return checkFields(schema.properties, value, pointer, report)
  if (Type.IsArray(schema) && Array.isArray(value)) {
    const items = schema.items
    const fit = value.map((item: unknown, n) => checkShape(items, item, below(pointer, n), report)).every(Boolean)
    if (!fit) return false
  }
  if (Type.IsRecord(schema) && isRecord(value)) {
    const [inner] = Object.values(schema.patternProperties)
    const fits = Object.entries(value).map(
      ([key, one]) => inner === undefined || checkShape(inner, one, below(pointer, key), report),
    )
    if (!fits.every(Boolean)) return false
  }
  if (Value.Check(schema, value)) return true
  const hint = typeof value === 'string' ? didYouMean(value, wordsOf(schema)) : undefined
  report(pointer, value, schemaText(schema), hint)
  return false
}

function checkFields(
  properties: Readonly<Record<string, TSchema>>,
  value: Readonly<Record<string, unknown>>,
  pointer: string,
  report: Report,
): boolean {
  const names = Object.keys(properties)
  const strangers = Object.keys(value).filter((key) => !Object.hasOwn(properties, key))
  for (const key of strangers)
    report(below(pointer, key), key, `one of the fields ${names.join(', ')}`, didYouMean(key, names))
  const fit = Object.entries(properties).map(([key, schema]) => {
    if (Object.hasOwn(value, key)) return checkShape(schema, value[key], below(pointer, key), report)
    if (Type.IsOptional(schema)) return true
    report(below(pointer, key), undefined, schemaText(schema))
    return false
  })
  return strangers.length === 0 && fit.every(Boolean)
}
