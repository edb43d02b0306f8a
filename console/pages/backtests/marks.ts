/** Words and marks of backtests. */
import { html } from 'hono/html'
import type { Backtest } from '../../../domain/backtests/backtest.ts'
import { count, counted } from '../../../domain/quantity.ts'
import { capital } from '../../../domain/text.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { badge, meter } from '../../parts/marks.ts'

const STATES: Readonly<Record<Backtest['state'], readonly [IconName, string]>> = {
  queued: ['stock', 'quiet'],
  running: ['next', 'quiet'],
  done: ['active', 'good'],
  failed: ['critical', 'critical'],
}
export const stateBadge = ({ state }: Pick<Backtest, 'state'>): Html => {
  const [name, tone] = STATES[state]
  return badge(tone, capital(state), name)
}

/** `Version 3`. */
export const rulesWords = ({ version }: Pick<Backtest, 'version'>): string =>
  version === null ? 'Unstored files' : `Version ${version}`

/** `Version 3 over 2 cycles`. */
export const backtestWords = (backtest: Pick<Backtest, 'version' | 'cycles'>): string =>
  `${rulesWords(backtest)} over ${counted(backtest.cycles, 'cycle')}`

/** How far one is that has not ended. It moves without a change of the tenant. */
export function progressMark({ state, records, recordsDone }: Backtest): Html | '' {
  if (state === 'done' || state === 'failed') return ''
  if (state === 'queued') return html`<small data-moving>waits for its turn</small>`
  if (records === null) return html`<small data-moving>copies the past</small>`
  const words = `${count(recordsDone)} of ${counted(records, 'usage record')}`
  return html`<div data-moving>${meter(recordsDone, records, words)}<small>${words}</small></div>`
}
