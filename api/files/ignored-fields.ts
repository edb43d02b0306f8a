/** Unknown fields and columns of files, which a request may have passed over. */
import { Type } from 'typebox'
import { Unreadable } from '../../domain/files/waste.ts'
import { quote } from '../../domain/quote.ts'
import { Text } from '../../domain/schema.ts'

/** Most fields passed over in a file: records with further ones are rejected. */
const MOST_IGNORED = 100
/** Most bytes shown of the name of a field. */
const SHOWN = 60

/** The part of a query that asks for it. */
export const IGNORE_UNKNOWN = {
  ignoreUnknown: Type.Optional(
    Type.Boolean({ description: 'Pass over unknown fields and columns; default: such a record, or CSV, is refused' }),
  ),
}

/** The part of an answer that names them. */
export const IGNORED = {
  ignored: Type.Array(Text('Name of a field', 'country'), {
    description: 'With `ignoreUnknown`: names of the fields that were passed over, at most 100',
  }),
}

/** The unknown fields of a file that are passed over. */
export class IgnoredFields {
  readonly #known: ReadonlySet<string>
  /** Names as they came, each with its text for the answer: a name is looked up in every record. */
  readonly #names = new Map<string, string>()

  /** @param fields the fields of a record, by name */
  constructor(fields: Readonly<Record<string, unknown>>) {
    this.#known = new Set(Object.keys(fields))
  }

  /** At most 100 names. */
  get names(): string[] {
    return [...new Set(this.#names.values())]
  }

  /** @returns whether the field is passed over */
  add(name: string): boolean {
    if (this.#names.has(name)) return true
    if (this.#names.size >= MOST_IGNORED) return false
    this.#names.set(name, quote(name, SHOWN))
    return true
  }

  /** A record without its unknown fields; other values unchanged. */
  without(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Unreadable) return value
    const fields = Object.entries(value)
    const known = fields.filter(([name]) => this.#known.has(name) || !this.add(name))
    return known.length === fields.length ? value : Object.fromEntries(known)
  }
}
