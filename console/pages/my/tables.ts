/** Tables of a cycle's costs: of what has been used so far, of a plan, or of a statement. */
import { html } from 'hono/html'
import { instant } from '../../../domain/local-time.ts'
import type { CostParts, CycleCost, PoolCost } from '../../../domain/month-end/cost.ts'
import { amount, counted, duration, megabytes, ofLimit } from '../../../domain/quantity.ts'
import { MB } from '../../../domain/units.ts'
import type { Html } from '../../parts/html.ts'
import { meter } from '../../parts/marks.ts'
import { poolLink } from '../pools/marks.ts'

/** The dearest; the others are added up. */
const MOST_POOLS = 50
/** Before a forecast, and not broken from it. */
const ABOUT = '~\u00A0'

type Parts = Pick<CycleCost, 'soFar' | 'currency' | 'overageBytes' | 'voiceSeconds' | 'smsCount'> &
  Partial<Pick<CycleCost, 'forecast'>>
type PoolRow = Omit<PoolCost, 'forecastMicro'> &
  Partial<Pick<PoolCost, 'forecastMicro'>> & {
    /** Its capacity in the next cycle, if that is planned. */
    readonly nextLimitBytes?: number
  }
interface Pools extends Pick<CycleCost, 'soFar' | 'currency'> {
  readonly pools: { readonly count: number; readonly first: readonly PoolRow[] }
}

/** Where the figures of a cycle that has ended come from. */
export const endedWords = (closedAt: string | null): string =>
  closedAt === null
    ? 'It has ended, and has no statement yet: usage that comes in late still counts.'
    : `Closed at ${instant(closedAt)}: the figures are those of its statement.`

/** @param tenantId for a link to it; null: without one */
export const poolName = (tenantId: string | null, { poolId, poolName: name }: Pick<PoolCost, 'poolId' | 'poolName'>) =>
  poolId === 0 ? 'Outside pools' : tenantId === null ? html`<bdi>${name}</bdi>` : poolLink(tenantId, poolId, name)

const nextWords = ({ limitBytes, nextLimitBytes = limitBytes }: PoolRow): Html | '' =>
  nextLimitBytes === limitBytes ? '' : html`<small>next cycle: of ${megabytes(nextLimitBytes / MB)}</small>`

/** @param end of a running cycle with a forecast, in words */
export function partTable(
  { soFar, currency, overageBytes, voiceSeconds, smsCount, ...cost }: Parts,
  end: string | null,
) {
  const { forecast = null } = end === null ? {} : cost
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
export function poolTable({ pools, soFar, currency }: Pools, end: string | null, tenantId: string | null): Html {
  const write = (micro: number) => amount(micro, currency)
  const shown = pools.first.toSorted((a, b) => b.totalMicro - a.totalMicro || a.poolId - b.poolId).slice(0, MOST_POOLS)
  const left = shown.reduce((sum, { totalMicro }) => sum - totalMicro, soFar.totalMicro - soFar.adjustmentsMicro)
  const row = (pool: PoolRow) => {
    const [used, limit] = [pool.usageBytes / MB, pool.limitBytes / MB]
    return html`<tr>
<th scope="row">${poolName(tenantId, pool)}<small>${counted(pool.lines, 'line')}</small></th>
<td class="wide">${limit === 0 ? '' : meter(used, limit)}</td>
<td class="number">${limit === 0 ? megabytes(used) : ofLimit(used, limit)}${nextWords(pool)}</td>
<td class="wide number">${pool.overageBytes === 0 ? html`<span class="mute">none</span>` : html`${write(pool.overageMicro)}<small>${megabytes(pool.overageBytes / MB)} over</small>${used > limit ? '' : html`<small>by some SIMs</small>`}`}</td>
<td class="number">${write(pool.totalMicro)}${end === null || pool.forecastMicro == null ? '' : html`<small>${ABOUT}${write(pool.forecastMicro)}</small>`}</td>
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
