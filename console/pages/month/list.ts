/** Billing cycles of a tenant, newest first, and the Schedule of their month ends. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { ServiceError } from '../../../domain/errors.ts'
import type { CycleInfo } from '../../../domain/month-end/month-end.ts'
import { cutPage, pageQuery } from '../../../domain/page.ts'
import { count } from '../../../domain/quantity.ts'
import { mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks, Done } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { nextPage } from '../../parts/list.ts'
import { ago, facts, instantMark, panelOf } from '../../parts/marks.ts'
import { type Schedule, scheduleActs } from './acts.ts'
import { cycleLink, nameOf, phaseBadge } from './marks.ts'

export const CyclesQuery = Type.Object({ page: pageQuery.page, ...Done.properties })
export type CyclesQuery = Static<typeof CyclesQuery>

const MOST_ROWS = 50

/** @param said notice of an act just before */
export async function cyclesPage(
  { inside }: Calls,
  tenantId: string,
  { page = 1, now, said }: CyclesQuery & { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const [cycles, schedule] = await Promise.all([
    mustAnswer(inside.GET('/internal/cycles')),
    tryAnswer(inside.GET('/internal/schedules/month-end')),
  ])
  if (schedule === null) throw new ServiceError('forbidden', 'Month ends are for operators.')
  const { data: shown, pagination } = cutPage(cycles, page, MOST_ROWS)
  const path = `/t/${tenantId}/month`
  return html`<div class="head"><h1>Month end</h1></div>
${said}
${panelOf({ title: 'By schedule', id: 'schedule' }, schedule, (found) => html`${facts(scheduleFacts(found, now))}${actLinks(`${path}/schedule`, scheduleActs(found))}`)}
${shown.length === 0 ? html`<p class="empty">No billing cycle is open yet: it opens with the first SIM or usage.</p>` : table(tenantId, shown, now)}
${nextPage(path, {}, pagination)}`
}

const scheduleFacts = (
  { paused, note, nextAt, lastAt }: Schedule,
  now: number,
): (readonly [string, Html | string])[] => [
  [
    'Next',
    paused ? html`<span class="critical">None: it is paused</span>` : nextAt === null ? 'None' : instantMark(nextAt),
  ],
  ['Last', ago(lastAt, now)],
  ...(note === null || note === '' ? [] : [['Note', html`<bdi>${note}</bdi>`] as const]),
]

const table = (tenantId: string, cycles: readonly CycleInfo[], now: number): Html => html`<div class="panel"><table>
<thead><tr><th scope="col">Billing cycle</th><th scope="col" class="wide">From</th><th scope="col">State</th><th scope="col" class="number">Records</th><th scope="col" class="wide number">Sent again</th></tr></thead>
<tbody>
${cycles.map(
  (cycle) => html`<tr id="cycle-${cycle.key}">
<th scope="row">${cycleLink(tenantId, cycle.key, nameOf(cycle))}<small>${cycle.key}</small></th>
<td class="wide">${instantMark(cycle.startsAt)}<small>until ${instantMark(cycle.endsAt)}</small></td>
<td>${phaseBadge(cycle, now)}</td>
<td class="number">${count(cycle.recordsAccepted)}</td>
<td class="wide number">${count(cycle.recordsDuplicate)}</td>
</tr>`,
)}
</tbody>
</table></div>`
