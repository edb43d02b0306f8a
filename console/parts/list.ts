/** Lists: filters and pages in the URL, so that a list is a link. */
import { html } from 'hono/html'
import { linkIn } from '../../adapters/rest/client.ts'
import type { Pagination } from '../../domain/page.ts'
import type { Html } from './html.ts'

/** Filters of a list, and its cursor. */
export type ListQuery = Readonly<Record<string, string | number | boolean | undefined>>

/** The cursor of the next part, from the `Link` header. */
export function nextCursor(response: Response): string | undefined {
  return new URLSearchParams(linkIn(response, 'next')?.split('?')[1] ?? '').get('cursor') ?? undefined
}

/** The list's path with its filters, at a cursor or from the beginning. */
export function linkTo(path: string, query: ListQuery, cursor?: string): string {
  const asked = new URLSearchParams()
  const fields: ListQuery = { ...query, cursor }
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) asked.set(name, String(value))
  return asked.size === 0 ? path : `${path}?${asked.toString()}`
}

/** Whether a list shows all that there is, from the beginning. */
export const isUnfiltered = (query: ListQuery): boolean => Object.values(query).every((value) => value === undefined)

/** Links to the first and the next part. @param onward words of the latter */
export const pager = (path: string, query: ListQuery, next: string | undefined, onward = 'Next page'): Html => html`
<p class="pages">
${query['cursor'] === undefined ? '' : html`<a href="${linkTo(path, query)}">First page</a>`}
${next === undefined ? '' : html`<a href="${linkTo(path, query, next)}">${onward}</a>`}
</p>`

/** A link to the next page of a list that is paged by number. */
export const nextPage = (path: string, filter: ListQuery, { page, hasNextPage }: Pagination): Html | '' =>
  hasNextPage ? html`<p class="pages"><a href="${linkTo(path, { ...filter, page: page + 1 })}">Next page</a></p>` : ''

interface ListPart {
  readonly noun: string
  readonly shown: number
  /** Rows of a full part. */
  readonly most: number
  /** Said of an empty list. */
  readonly empty: Html
}

/** Below a list whose parts look at a limited number of rows: a part that is cut short leads to a further look. */
export function listEnd(path: string, query: ListQuery, next: string | undefined, part: ListPart): Html {
  const { noun, shown, most, empty } = part
  if (next === undefined || shown === most) return html`${shown === 0 ? empty : ''}${pager(path, query, next)}`
  return html`<p class="empty">
${shown === 0 ? 'None' : 'These are all'} among the ${noun} looked at; <a href="${linkTo(path, query, next)}">look further</a>.</p>
${pager(path, query, undefined)}`
}

type Value = string | number | boolean

/** A field with given choices, each a value and its words. */
export const choices = (
  { name, label, value }: { readonly name: string; readonly label: string; readonly value: Value | undefined },
  options: readonly (readonly [Value, string])[],
): Html => html`<label>${label} <select name="${name}">
${options.map(([one, words]) => html`<option value="${String(one)}"${String(one) === String(value ?? '') ? html` selected` : ''}>${words}</option>`)}
</select></label>`

/** Choices among codes, by their labels. */
export const choicesOf = <C extends number>(codes: Readonly<Record<string, C>>): (readonly [C, string])[] =>
  Object.entries(codes).map(([label, code]) => [code, label])

/** The choice that leaves a filter out. */
export const ANY = ['', 'Any'] as const
