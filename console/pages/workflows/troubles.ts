/** Workflows of a tenant that retry an activity, the longest first. */
import { html } from 'hono/html'
import { count } from '../../../domain/quantity.ts'
import type { Trouble, Troubles } from '../../../domain/workflows/trouble.ts'
import { type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { ago, ahead, line, often, panelOf } from '../../parts/marks.ts'
import { faultWords, nameWords } from './fields.ts'
import { objectsOf, workflowLink } from './marks.ts'

const FEW = 5

/** @param page of all; undefined: the first few */
export const readTroubles = ({ inside }: Calls, page?: number): Promise<Part<Troubles>> =>
  tryAnswer(
    inside.GET('/internal/workflows/troubles', {
      params: { query: page === undefined ? { pageSize: FEW } : { page } },
    }),
  )

/** Nothing if none is known, unless a page of all is asked for. @param path of the list of workflows */
export function troublesPanel(
  tenantId: string,
  path: string,
  part: Part<Troubles>,
  now: number,
  page?: number,
): Html | '' {
  if (page === undefined && part !== null && 'data' in part && part.data.data.length === 0) return ''
  return panelOf({ title: 'Retrying', id: 'retrying', note: 'the longest first' }, part, (found) => {
    const { data, pagination, isChecked } = found
    const all = linkTo(path, { trouble: true, page: page === undefined ? undefined : page + 1 })
    return html`${isChecked ? '' : html`<p class="missing">Temporal cannot be reached: these retried when it was last.</p>`}
${data.length === 0 ? html`<p class="empty">None.</p>` : html`<ul class="log">${data.map((one) => troubleLine(tenantId, one, now))}</ul>`}
${pagination.hasNextPage ? html`<p><a href="${all}">${page === undefined ? `All ${count(pagination.totalItems)}` : 'Next page'}</a></p>` : ''}`
  })
}

function troubleLine(tenantId: string, trouble: Trouble, now: number): Html {
  const { workflowId, activity, attempt, since, nextAttemptAt } = trouble
  const next = nextAttemptAt === null ? 'An attempt is under way' : html`Next try ${ahead(nextAttemptAt, now)}`
  return line(
    'refresh',
    html`<strong>${workflowLink(tenantId, workflowId)}</strong> of ${objectsOf(workflowId)}
<small>${nameWords(activity)} has failed ${often(attempt)}: ${faultWords(trouble)}. ${next}.</small>`,
    ago(since, now),
  )
}
