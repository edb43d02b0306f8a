/** Cells of SIMs, for every list of them. */
import { html } from 'hono/html'
import { ofLimit, percent } from '../../../domain/quantity.ts'
import type { SimSummary } from '../../../domain/sims/sim.ts'
import type { Html } from '../../parts/html.ts'

/** The first cell of its row. @param path of the SIMs @param tick its box */
export const nameCell = (
  path: string,
  { id, tag, iccid }: Pick<SimSummary, 'id' | 'tag' | 'iccid'>,
  tick: Html | '' = '',
): Html =>
  html`<th scope="row">${tick}<a href="${path}/${id}"><bdi>${tag || iccid}</bdi></a>${tag === '' ? '' : html`<small>${iccid}</small>`}</th>`

export const usedCell = ({
  usageMB,
  limitMB,
  isOverage,
}: Pick<SimSummary, 'usageMB' | 'limitMB' | 'isOverage'>): Html =>
  html`<td class="number${isOverage ? ' critical' : ''}">${usageMB === 0 && limitMB === 0 ? html`<span class="mute">none</span>` : ofLimit(usageMB, limitMB)}${isOverage ? html`<small>over</small>` : ''}</td>`

/** The warning threshold in effect, its own or its pool's. */
export const thresholdWords = ({ warningThresholdPct }: Pick<SimSummary, 'warningThresholdPct'>): Html =>
  warningThresholdPct === null ? html`<span class="mute">as its pool</span>` : html`${percent(warningThresholdPct)}`
