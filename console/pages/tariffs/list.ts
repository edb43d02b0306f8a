/** Tariffs that a tenant can assign, and those that are withdrawn: its own, and the platform's. */
import { html } from 'hono/html'
import { labelOf, TariffType } from '../../../domain/codes.ts'
import { cutPage } from '../../../domain/page.ts'
import { counted, megabytes, price } from '../../../domain/quantity.ts'
import type { Tariff } from '../../../domain/tariffs/tariff.ts'
import { MB } from '../../../domain/units.ts'
import { dataOf, mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { nextPage } from '../../parts/list.ts'
import { readCurrency } from '../../prices.ts'
import { NEW_TARIFF, OFFER, offerWords } from './acts.ts'

const MOST_ROWS = 50

/** @param path of the list @param said notice of an act just before */
export async function tariffsPage(calls: Calls, path: string, page: number, said: Html | ''): Promise<Html> {
  const [found, own, currency] = await Promise.all([
    mustAnswer(calls.outside.GET('/api/tariffs')),
    tryAnswer(calls.inside.GET('/internal/tariffs')),
    readCurrency(calls),
  ])
  const ownIds = dataOf(own)?.map(({ id }) => id)
  const ownerOf = (tariff: Tariff) =>
    ownIds?.includes(tariff.id)
      ? html`<small><a href="${path}/${OFFER.name}?tariff=${tariff.id}">${offerWords(tariff)}… <span class="hidden"><bdi>${tariff.displayName}</bdi></span></a></small>`
      : html`<small>the platform's</small>`
  const all = found.toSorted((a, b) => Number(b.isActive) - Number(a.isActive) || a.id - b.id)
  const { data: shown, pagination } = cutPage(all, page, MOST_ROWS)
  const row = (tariff: Tariff) => html`<tr id="tariff-${tariff.id}">
<th scope="row"><bdi>${tariff.displayName}</bdi><small>${labelOf(TariffType, tariff.type)}</small><small><bdi>${tariff.description}</bdi></small></th>
${termCells(tariff, currency)}
<td><span class="badge ${tariff.isActive ? 'good' : 'quiet'}">${tariff.isActive ? 'Offered' : 'Withdrawn'}</span>${ownIds === undefined ? '' : ownerOf(tariff)}</td>
</tr>`
  return html`<div class="head"><div><h1>Tariffs</h1>
<p class="lead">${counted(all.length, 'tariff')}: those of this tenant, and the platform's, which every tenant has.</p></div>
${own === null ? '' : actLinks(path, [NEW_TARIFF])}
</div>
${said}
${
  shown.length === 0
    ? html`<p class="empty">None. <em>New tariff</em> makes one.</p>`
    : html`<div class="panel"><table>
<thead><tr><th scope="col">Tariff</th><th scope="col" class="number">Data</th><th scope="col" class="wide number">A month</th><th scope="col" class="wide number">A GB above</th><th scope="col" class="wide number">An SMS</th><th scope="col">State</th></tr></thead>
<tbody>
${shown.map(row)}
</tbody>
</table></div>`
}
${nextPage(path, {}, pagination)}`
}

/** The data, and the fees: of a month, of a GB of overage, of an SMS and a minute of voice. */
function termCells({ standardTariff, dynamicPoolTariff, fixedPoolTariff: fixed }: Tariff, currency: string): Html | '' {
  const perSim = standardTariff ?? dynamicPoolTariff
  const terms = perSim ?? fixed
  if (terms === null) return ''
  const bytes = perSim?.baseTariffBytes ?? fixed?.fixedCapacityBytes ?? 0
  return html`<td class="number">${megabytes(bytes / MB)}<small>${fixed === null ? 'a SIM' : 'a pool'}</small></td>
<td class="wide number">${price(terms.simMonthlyFee, currency)}<small>a SIM</small>${fixed === null ? '' : html`<small>${price(fixed.fixedBucketCost, currency)} a pool</small>`}</td>
<td class="wide number">${price(terms.overageFeePerGb, currency)}</td>
<td class="wide number">${price(terms.smsFee, currency)}<small>${price(terms.voiceFee, currency)} a minute of voice</small></td>`
}
