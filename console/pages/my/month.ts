/** The cost of a billing cycle, and its reasons: parts, pools, usage, SIMs that rules have suspended, mails. */
import { html } from 'hono/html'
import { SimStatus } from '../../../domain/codes.ts'
import { cycleName, instant } from '../../../domain/local-time.ts'
import type { CycleCost } from '../../../domain/month-end/cost.ts'
import { counted, money } from '../../../domain/quantity.ts'
import { dataOf, mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { line, panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { endWords, readUsage, runningOf, usageChart } from '../../parts/usage.ts'
import { MAILED } from './acts.ts'
import { mailsTo } from './settings.ts'
import { readSuspended, suspendedList } from './suspended.ts'
import { endedWords, partTable, poolTable } from './tables.ts'

/** @param asked the key of the cycle; left out: of the running one @param mayOpen whether pools are links */
export async function monthPage(
  calls: Calls,
  { id: tenantId }: PageTenant,
  { cycle: asked, mayOpen, now }: { readonly cycle?: string; readonly mayOpen: boolean; readonly now: number },
): Promise<Html> {
  const { inside } = calls
  const key = asked ?? runningOf(await mustAnswer(inside.GET('/internal/cycles')), now)?.key
  if (key === undefined)
    return html`<div class="head"><h1>No billing cycle is open yet</h1></div><p>It opens with the first SIM or usage.</p>`
  const readCost = async () => {
    const cost = await mustAnswer(inside.GET('/internal/cycles/{key}/cost', { params: { path: { key } } }))
    return { cost, usage: await readUsage(calls, {}, cost) }
  }
  const [{ cost, usage }, suspended, addresses, notices] = await Promise.all([
    readCost(),
    asked === undefined ? readSuspended(calls) : null,
    tryAnswer(inside.GET('/internal/addresses')),
    tryAnswer(inside.GET('/internal/tenant/notices')),
  ])
  const [path, note, mailsFrom] = [`/t/${tenantId}/my`, `in ${cost.currency}`, dataOf(notices)?.mailsFrom]
  const sims = mayOpen ? `/t/${tenantId}/sims?status=${SimStatus.Suspended}` : null
  const end = now < Date.parse(cost.endsAt) ? endWords(cost) : null
  return html`${heading(path, cost, end)}
<div class="columns">
<div>
${panel({ title: 'What it is made of', id: 'parts', note }, partTable(cost, end))}
${panel({ title: 'By pool', id: 'pools', note: end === null || cost.forecast === null ? note : `${note}; ~ by ${end}` }, poolTable(cost, end, mayOpen ? tenantId : null))}
</div>
<div>
${panelOf({ title: 'Usage', id: 'usage', note: 'of all SIMs' }, usage, usageChart)}
${panelOf({ title: 'Suspended by rules', id: 'suspended', note: 'now' }, suspended, (found) => suspendedList(found, cost.endsAt, sims))}
${panelOf(
  { title: 'Mails to you', id: 'mails' },
  addresses,
  (all) => html`<ul class="log">
${all.map((address) => line('mail', html`<bdi>${address.email}</bdi>${mailsTo(address)}`))}
</ul>
<p>${mailsFrom === undefined ? '' : `${MAILED[mailsFrom]}, and summaries of billing cycles. `}<a href="${path}/settings">Change or stop these mails</a></p>`,
)}
</div>
</div>`
}

/** @param end of a running cycle, in words; null: it has ended */
function heading(path: string, cost: CycleCost, end: string | null): Html {
  const { cycle: key, soFar, currency, closedAt, lines, asOf, knownTo } = cost
  return html`<div class="head">
<div>
<h1>${cycleName({ ...cost, key }, 'UTC')}${end === null ? '' : ' so far'}: ${money(soFar.totalMicro, currency)}</h1>
<p class="lead">${outlook(cost, end)}</p>
${end === null ? '' : html`<p class="mute">Counted at ${instant(asOf)}, of usage until ${instant(knownTo)}.</p>`}
</div>
${closedAt === null ? '' : html`<p class="acts"><a class="button" href="${path}/statements/${key}.csv">${icon('download')} ${counted(lines, 'line')} as CSV</a></p>`}
</div>`
}

function outlook({ closedAt, forecast, currency }: CycleCost, end: string | null): string {
  if (end === null) return endedWords(closedAt)
  if (forecast === null)
    return `The cost by ${end} is not yet known: the forecast begins after the first tenth of the cycle.`
  return `About ${money(forecast.totalMicro, currency)} by ${end}, if usage goes on as it did. Fees are fixed; overage, voice and SMS follow usage.`
}
