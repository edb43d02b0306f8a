/** The lists of a plan, and how a statement differs from it. */
import { html } from 'hono/html'
import type { Difference, MonthEndPlan, PoolDifference } from '../../../domain/month-end/plan.ts'
import { changeWords, PLAN_TITLES } from '../../../domain/month-end/words.ts'
import { amount, count, counted, megabytes } from '../../../domain/quantity.ts'
import { MB } from '../../../domain/units.ts'
import type { Html } from '../../parts/html.ts'
import { instantMark, line, panel } from '../../parts/marks.ts'
import { poolName } from '../my/tables.ts'
import { faultWords } from '../workflows/fields.ts'
import { cycleLink } from './marks.ts'

/** Of a list. The interface names more. */
const MOST_LINES = 20

interface Excerpt<T> {
  readonly count: number
  readonly first: readonly T[]
}

/** The first entries of a list, and the number of the others; nothing of an empty one. */
function excerpt<T>(
  id: keyof typeof PLAN_TITLES,
  { count: all, first }: Excerpt<T>,
  row: (one: T) => Html,
  note = count(all),
) {
  if (all === 0) return ''
  const shown = first.slice(0, MOST_LINES)
  const rest = all - shown.length
  return panel(
    { title: PLAN_TITLES[id], id, note },
    html`<ul class="log">
${shown.map(row)}
</ul>${rest === 0 ? '' : html`<p>and ${count(rest)} more</p>`}`,
  )
}

/** Changes, their conflicts, and SIMs that come back. */
export function changePanels(tenantId: string, { changes, conflicts, renewals }: MonthEndPlan): Html {
  const sim = (id: number, words: string) => html`<a href="/t/${tenantId}/sims/${id}">${words}</a>`
  const note = `${counted(changes.moves, 'move')}, ${counted(changes.unassignments, 'unassignment')}`
  const none = changes.count + conflicts.count + renewals.count === 0
  return none
    ? panel(
        { title: PLAN_TITLES.changes, id: 'changes' },
        html`<p class="empty">Nothing is queued, and no SIM comes back.</p>`,
      )
    : html`${excerpt('conflicts', conflicts, (one) => line('critical', html`${sim(one.simId, one.iccid)}: ${faultWords(one)}`))}
${excerpt('changes', changes, (one) => line('next', html`${sim(one.simId, one.iccid)}: ${changeWords(one)}`), note)}
${excerpt('renewals', renewals, (id) => line('back', sim(id, `SIM ${id}`)))}`
}

export const adjustmentPanel = (tenantId: string, { adjustments, currency }: MonthEndPlan): Html | '' =>
  excerpt('adjustments', adjustments, ({ cycle, lines, totalMicro }) =>
    line('statement', html`${cycleLink(tenantId, cycle)}, ${counted(lines, 'line')}`, amount(totalMicro, currency)),
  )

/** With its sign. */
const more = (value: number, write: (value: number) => string) => `${value > 0 ? '+' : ''}${write(value)}`

/** Each part of a difference that is not zero: of the plan, of the statement, and how much more. */
function differenceTable({ totals, currency }: MonthEndPlan, difference: Difference): Html {
  const money = (micro: number) => amount(micro, currency)
  const parts = [
    ['Lines', 'lines', count],
    ['Usage', 'usageBytes', (bytes: number) => megabytes(bytes / MB)],
    ['Fees', 'feeMicro', money],
    ['Overage', 'overageMicro', money],
    ['Voice', 'voiceMicro', money],
    ['SMS', 'smsMicro', money],
    ['Adjustments', 'adjustmentsMicro', money],
    ['Total', 'totalMicro', money],
  ] as const
  const differing = parts.filter(([, part]) => difference[part] !== 0)
  if (differing.length === 0) return html`<p class="empty">Nowhere: its sums are those of the plan.</p>`
  return html`<table>
<thead><tr><th scope="col">Part</th><th scope="col" class="wide number">Plan</th><th scope="col" class="number">Statement</th><th scope="col" class="number">Difference</th></tr></thead>
<tbody>
${differing.map(
  ([name, part, write]) => html`<tr><th scope="row">${name}</th>
<td class="wide number">${write(totals[part] - difference[part])}</td>
<td class="number">${write(totals[part])}</td>
<td class="number">${more(difference[part], write)}</td></tr>`,
)}
</tbody>
</table>`
}

/** How the statement of a closed cycle differs from the last plan before. */
export function differencePanel(tenantId: string, plan: MonthEndPlan): Html {
  const { difference, currency } = plan
  const words = { title: 'Where it differs from the plan', id: 'difference' }
  if (difference === null) return panel(words, html`<p class="empty">Nothing was planned before the close.</p>`)
  const { plannedAt, pools } = difference
  const row = ({ lines, usageBytes, totalMicro, ...pool }: PoolDifference) =>
    line(
      'pool',
      html`${poolName(tenantId, pool)}<small>${lines === 0 ? '' : more(lines, (all) => counted(all, 'line'))} ${usageBytes === 0 ? '' : more(usageBytes, (all) => megabytes(all / MB))}</small>`,
      more(totalMicro, (micro) => amount(micro, currency)),
    )
  const shown = pools.first.slice(0, MOST_LINES)
  return panel(
    words,
    html`<p>The plan is that of ${instantMark(plannedAt)}.</p>
${differenceTable(plan, difference)}
${shown.length === 0 ? '' : html`<ul class="log">${shown.map(row)}</ul>`}
${pools.count === shown.length ? '' : html`<p>and ${counted(pools.count - shown.length, 'other pool')}</p>`}`,
  )
}
