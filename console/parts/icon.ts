/** Icons of Lucide, in the colour of the text. A word stands beside each. */
import { icons as lucide } from '@iconify-json/lucide'
import { html, raw } from 'hono/html'
import type { Html } from './html.ts'

/** Lucide's names, by meaning. */
const NAMES = {
  signal: 'radio',
  overview: 'gauge',
  sim: 'card-sim',
  pool: 'layers',
  active: 'circle-check',
  suspended: 'circle-pause',
  stock: 'circle-dashed',
  critical: 'octagon-alert',
  warning: 'triangle-alert',
  info: 'info',
  bell: 'bell',
  silence: 'bell-off',
  ticket: 'ticket',
  order: 'package',
  ship: 'truck',
  tariff: 'tags',
  search: 'search',
  mail: 'mail',
  address: 'at-sign',
  webhook: 'webhook',
  workflow: 'workflow',
  hold: 'hand',
  back: 'play',
  refresh: 'refresh-cw',
  undo: 'undo-2',
  history: 'clock',
  sms: 'message-square',
  exempt: 'shield-off',
  next: 'arrow-right',
  check: 'check',
  no: 'x',
  leave: 'log-out',
  enforcement: 'shield',
  settings: 'settings-2',
  month: 'receipt-text',
  monthEnd: 'calendar-check',
  statement: 'calendar',
  download: 'download',
  add: 'plus',
  rule: 'scroll-text',
  backtest: 'rewind',
  shadow: 'eye',
  key: 'key-round',
  people: 'users',
  audit: 'file-clock',
  edit: 'pencil',
  menu: 'menu',
} as const
export type IconName = keyof typeof NAMES

/** Strokes are the style's, for all at once. */
const DRAWN = /\s(fill|stroke|stroke-\w+)="[^"]*"/g

export function icon(name: IconName): Html {
  const drawing = lucide.icons[NAMES[name]]?.body
  if (drawing === undefined) throw new Error(`Lucide has no icon ${NAMES[name]}`)
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${raw(drawing.replaceAll(DRAWN, ''))}</svg>`
}
