/** Charts, drawn here as SVG: they follow the style's colours, print, and need no script. */
import { scaleBand, scaleLinear } from 'd3-scale'
import { html } from 'hono/html'
import type { Html } from './html.ts'

export interface Bar {
  /** Below the axis. */
  readonly label: string
  readonly value: number
}

interface Chart {
  /** The name of the values: for screen readers, and above the table. */
  readonly caption: string
  readonly bars: readonly Bar[]
  readonly write: (value: number) => string
  /** Of the table's first column. */
  readonly steps: string
}

/** One is shown, by the width of the panel. */
const SIZES = [
  { name: 'broad', width: 640, height: 200, labels: 6 },
  { name: 'narrow', width: 320, height: 180, labels: 4 },
] as const
const LEFT = 56
const TOP = 10
const BOTTOM = 22

/** Bars over time, and the same as a table. Negative values are in the table only. */
export const barChart = (chart: Chart): Html => html`<div class="chart">
${SIZES.map((size) => picture(chart, size))}
</div>
<details><summary>As a table</summary><table>
<thead><tr><th scope="col">${chart.steps}</th><th scope="col" class="number">${chart.caption}</th></tr></thead>
<tbody>
${chart.bars.map(({ label, value }) => html`<tr><th scope="row">${label}</th><td class="number">${chart.write(value)}</td></tr>`)}
</tbody>
</table></details>`

function picture({ caption, bars, write }: Chart, { name, width, height, labels }: (typeof SIZES)[number]): Html {
  const places = bars.map((_, n) => n)
  const x = scaleBand(places, [LEFT, width]).padding(0.25)
  const y = scaleLinear([0, Math.max(1, ...bars.map(({ value }) => value))], [height - BOTTOM, TOP]).nice(4)
  const [zero, every] = [y(0), Math.ceil(bars.length / labels)]
  return html`<svg class="${name}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${caption}">
${y.ticks(4).map(
  (tick) => html`<line x1="${LEFT}" x2="${width}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>
<text class="value" x="${LEFT - 8}" y="${round(y(tick) + 4)}">${write(tick)}</text>`,
)}
${bars.map(({ label, value }, n) => {
  const [left, top] = [x(n) ?? LEFT, y(Math.max(0, value))]
  const text =
    n % every === 0 ? html`<text x="${round(left + x.bandwidth() / 2)}" y="${height - 4}">${label}</text>` : ''
  return html`<rect x="${round(left)}" y="${round(top)}" width="${round(x.bandwidth())}" height="${round(zero - top)}"><title>${label}: ${write(value)}</title></rect>${text}`
})}
</svg>`
}

const round = (units: number): number => Math.round(units * 10) / 10
