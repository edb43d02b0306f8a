/** Lists: the envelope of a page, the query for a page, and the filters that lists share. */
import { type Static, type TSchema, Type } from 'typebox'
import { type CodeTable, metadataOf } from './codes.ts'
import { objectWithExample, strictObject, Text } from './schema.ts'

/** Service document, section 2.1. */
export const Pagination = objectWithExample(
  {
    page: Type.Integer({ description: 'Number of this page, from 1' }),
    pageSize: Type.Integer({ description: 'Most items on a page' }),
    totalItems: Type.Integer({ description: 'Items on all pages' }),
    totalPages: Type.Integer({ description: 'Number of pages; 0 if the list is empty' }),
    hasNextPage: Type.Boolean({ description: 'Whether a later page has items' }),
    hasPreviousPage: Type.Boolean({ description: 'Whether an earlier page has items' }),
  },
  { page: 1, pageSize: 100, totalItems: 1, totalPages: 1, hasNextPage: false, hasPreviousPage: false },
)
export type Pagination = Static<typeof Pagination>

/** Schema of a page: its items, and the pagination. */
export const pageOf = <T extends TSchema>(item: T) =>
  strictObject({ data: Type.Array(item, { description: 'Items of the page' }), pagination: Pagination })

export interface Page<T> {
  readonly data: T[]
  readonly pagination: Pagination
}

/** Query field with the size of a page. */
export const pageSize = (usual: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: usual, description: 'Most items of the page, 1 to 100' }),
  )

/** Query fields that select a page. Service document, section 8. */
export const pageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1, description: 'Page, from 1' })),
  pageSize: pageSize(100),
}
export const PageQuery = Type.Object(pageQuery)
export type PageQuery = Static<typeof PageQuery>

/** The page to read of a list: its number, from 1, and its size. */
export type PageRequest = Readonly<Required<PageQuery>>

/** The page that a query selects, with defaults: page 1 of 100 items. */
export const pageRequest = (query: PageQuery): PageRequest => ({
  page: query.page ?? 1,
  pageSize: query.pageSize ?? 100,
})

export const offsetOf = ({ page, pageSize }: PageRequest): number => (page - 1) * pageSize

export function toPage<T>(request: PageRequest, totalItems: number, data: T[]): Page<T> {
  const totalPages = Math.ceil(totalItems / request.pageSize)
  return {
    data,
    pagination: {
      page: request.page,
      pageSize: request.pageSize,
      totalItems,
      totalPages,
      hasNextPage: request.page < totalPages,
      hasPreviousPage: request.page > 1 && totalItems > 0,
    },
  }
}

/** A `date` filter. A date means that day in UTC; a date-time means everything from that instant on. */
export const DateFilter = Type.Unsafe<string>({
  type: 'string',
  anyOf: [
    { type: 'string', format: 'date' },
    { type: 'string', format: 'date-time' },
  ],
  examples: ['2026-11-20'],
  description: 'A date (that day in UTC), or a date-time with its offset (from that instant on)',
})

export interface Span {
  readonly from: Date
  /** First instant after the span; null if it has no end. */
  readonly to: Date | null
}

const DAY_MS = 86_400_000

/** Reads a `date` filter. @returns undefined if it is no day or instant of the calendar (`2026-02-30`) */
export function spanOf(text: string): Span | undefined {
  const day = text.slice(0, 10)
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return undefined
  if (text.length === 10) return { from: midnight, to: new Date(midnight.getTime() + DAY_MS) }
  const from = new Date(text.replace(' ', 'T').toUpperCase())
  return Number.isNaN(from.getTime()) ? undefined : { from, to: null }
}

export const CodeLabel = strictObject({
  code: Type.Integer({ description: 'Code', examples: [1] }),
  description: Text('Label', 'Active'),
})
/** Schema of a metadata list. Clients must tolerate unknown codes, because more may be added. */
export const codeList = (description: string, table: CodeTable) =>
  Type.Array(CodeLabel, { description, examples: [metadataOf(table)] })

/** A page of a list that is here as a whole. */
export const cutPage = <T>(all: readonly T[], page: number, pageSize: number): Page<T> =>
  toPage({ page, pageSize }, all.length, all.slice(offsetOf({ page, pageSize }), page * pageSize))
