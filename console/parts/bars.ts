/** Counts as bars with their numbers: a table that is a picture, too. */
import { html } from 'hono/html'
import { count } from '../../domain/quantity.ts'
import type { Html } from './html.ts'
import { meter } from './marks.ts'

export interface BarRow {
  readonly words: string
  /** One for each column. */
  readonly values: readonly number[]
  /** It was not done: its bars are pale. */
  readonly isWould?: boolean
}

/** Rows with bars of one scale. */
export interface BarGroup {
  readonly name: string
  readonly rows: readonly BarRow[]
}

/** @param what the rows are @param columns names of their values */
export const barTable = (what: string, columns: readonly string[], groups: readonly BarGroup[]): Html => html`
<table class="pairs">
<thead><tr><th scope="col">${what}</th><td class="bars"></td>${columns.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
${groups.map(({ name, rows }) => {
  const most = Math.max(...rows.flatMap(({ values }) => values))
  return html`<tbody><tr><th scope="rowgroup" colspan="${2 + columns.length}"><bdi>${name}</bdi></th></tr>
${rows.map(
  ({ words, values, isWould = false }) => html`<tr${isWould ? html` class="would"` : ''}><td><bdi>${words}</bdi></td>
<td>${values.map((value, n) => meter(value, most, `${words}, ${columns[n]}: ${count(value)}`))}</td>
${values.map((value) => html`<td class="number">${count(value)}</td>`)}</tr>`,
)}</tbody>`
})}
</table>`
