/** The cost of a billing cycle, and its reasons: parts, pools, usage, SIMs that rules have suspended, mails. */
import { html } from 'hono/html'
import { SimStatus } from '../../../domain/codes.ts'
import { cycleName, instant } from '../../../domain/local-time.ts'
import type { CostParts, CycleCost, PoolCost } from '../../../domain/month-end/cost.ts'
import { amount, counted, duration, megabytes, money, ofLimit } from '../../../domain/quantity.ts'
import { MB } from '../../../domain/units.ts'
import { dataOf, mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { line, meter, panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { endWords, readUsage, runningOf, usageChart } from '../../parts/usage.ts'
import { poolLink } from '../pools/marks.ts'
import { MAILED } from './acts.ts'
import { mailsTo } from './settings.ts'
import { readSuspended, suspendedList } from './suspended.ts'

/** The dearest; the others are added up. */
const MOST_POOLS = 50
/** Before a forecast, and not broken from it. */
const ABOUT = '~\u00A0'

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
  if (closedAt !== null) return `Closed at ${instant(closedAt)}: the figures are those of its statement.`
  if (end === null) return 'It has ended, and has no statement yet: usage that comes in late still counts.'
  if (forecast === null)
    return `The cost by ${end} is not yet known: the forecast begins after the first tenth of the cycle.`
  return `About ${money(forecast.totalMicro, currency)} by ${end}, if usage goes on as it did. Fees are fixed; overage, voice and SMS follow usage.`
}

function partTable({ soFar, currency, overageBytes, voiceSeconds, smsCount, ...cost }: CycleCost, end: string | null) {
  const forecast = end === null ? null : cost.forecast
  const row = (name: string, part: keyof CostParts, restsOn: string, about = ABOUT) => html`<tr>
<th scope="row">${name}</th><td class="number">${amount(soFar[part], currency)}</td>
${forecast === null ? '' : html`<td class="number">${about}${amount(forecast[part], currency)}</td>`}<td class="wide mute">${restsOn}</td></tr>`
  const over = overageBytes === 0 ? 'no data above the limits' : `${megabytes(overageBytes / MB)} above the limits`
  return html`<table>
<thead><tr><th scope="col">Part</th><th scope="col" class="number">${end === null ? 'Cost' : 'So far'}</th>${forecast === null ? '' : html`<th scope="col" class="number">By ${end}</th>`}<th scope="col" class="wide">Rests on</th></tr></thead>
<tbody>
${row('Fees', 'feeMicro', 'SIMs active in the cycle, and bought capacity', '')}
${row('Overage', 'overageMicro', over)}
${row('Voice', 'voiceMicro', duration(voiceSeconds * 1000))}
${row('SMS', 'smsMicro', counted(smsCount, 'message'))}
${soFar.adjustmentsMicro === 0 ? '' : row('Adjustments', 'adjustmentsMicro', 'usage of closed cycles that came in late', '')}
</tbody>
<tfoot>${row('Total', 'totalMicro', '')}</tfoot>
</table>`
}

/** @param tenantId for links to pools; null: without links */
function poolTable({ pools, soFar, currency }: CycleCost, end: string | null, tenantId: string | null): Html {
  const write = (micro: number) => amount(micro, currency)
  const name = ({ poolId: id, poolName }: PoolCost) =>
    id === 0 ? 'Outside pools' : tenantId === null ? html`<bdi>${poolName}</bdi>` : poolLink(tenantId, id, poolName)
  const shown = pools.first.toSorted((a, b) => b.totalMicro - a.totalMicro || a.poolId - b.poolId).slice(0, MOST_POOLS)
  const left = shown.reduce((sum, { totalMicro }) => sum - totalMicro, soFar.totalMicro - soFar.adjustmentsMicro)
  const row = (pool: PoolCost) => {
    const [used, limit] = [pool.usageBytes / MB, pool.limitBytes / MB]
    return html`<tr>
<th scope="row">${name(pool)}<small>${counted(pool.lines, 'line')}</small></th>
<td class="wide">${limit === 0 ? '' : meter(used, limit)}</td>
<td class="number">${limit === 0 ? megabytes(used) : ofLimit(used, limit)}</td>
<td class="wide number">${pool.overageBytes === 0 ? html`<span class="mute">none</span>` : html`${write(pool.overageMicro)}<small>${megabytes(pool.overageBytes / MB)} over</small>${used > limit ? '' : html`<small>by some SIMs</small>`}`}</td>
<td class="number">${write(pool.totalMicro)}${end === null || pool.forecastMicro === null ? '' : html`<small>${ABOUT}${write(pool.forecastMicro)}</small>`}</td>
</tr>`
  }
  if (shown.length === 0) return html`<p class="empty">Nothing yet: no SIM has been active.</p>`
  return html`<table>
<thead><tr><th scope="col">Pool</th><th scope="col" class="wide bars">Usage</th><th scope="col" class="number">Used</th><th scope="col" class="wide number">Overage</th><th scope="col" class="number">Cost</th></tr></thead>
<tbody>
${shown.map(row)}
</tbody>
</table>
${pools.count === shown.length ? '' : html`<p>${counted(pools.count - shown.length, 'other pool')}: ${write(left)}</p>`}`
}
