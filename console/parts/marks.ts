/** Small parts of pages: states, meters, times, panels. Words of others are isolated, whatever their direction. */
import { html } from 'hono/html'
import type { WatchdogLogEntry } from '../../domain/alerts/watchdog-log-entry.ts'
import { LogLevel, labelOf, SimStatus } from '../../domain/codes.ts'
import { instant } from '../../domain/local-time.ts'
import { count, duration, ofLimit } from '../../domain/quantity.ts'
import type { Missing, Part } from '../answers.ts'
import type { Html } from './html.ts'
import { type IconName, icon } from './icon.ts'

/** A state in a coloured box. @param name of an icon before its words */
export const badge = (tone: string, words: string, name: IconName): Html =>
  html`<span class="badge ${tone}">${icon(name)} ${words}</span>`

const STATUSES: Readonly<Record<SimStatus, readonly [IconName, string]>> = {
  [SimStatus.Unprovisioned]: ['stock', 'quiet'],
  [SimStatus.Active]: ['active', 'good'],
  [SimStatus.Suspended]: ['suspended', 'warning'],
}
export const statusBadge = (status: SimStatus): Html => {
  const [name, tone] = STATUSES[status]
  return badge(tone, labelOf(SimStatus, status), name)
}

const LEVELS: Readonly<Record<LogLevel, readonly [IconName, string]>> = {
  [LogLevel.Info]: ['info', 'quiet'],
  [LogLevel.Warning]: ['warning', 'warning'],
  [LogLevel.Critical]: ['critical', 'critical'],
}
export const levelMark = (level: LogLevel): Html => {
  const [name, tone] = LEVELS[level]
  return html`<span class="mark ${tone}">${icon(name)}<span class="hidden">${labelOf(LogLevel, level)}</span></span>`
}

export const levelBadge = (level: LogLevel): Html => {
  const [name, tone] = LEVELS[level]
  return badge(tone, labelOf(LogLevel, level), name)
}

/** A sentence that stands out at the top of a page. */
export const notice = (tone: 'good' | 'warning' | 'critical', name: IconName, words: Html | string): Html => html`
<p class="notice ${tone}" role="${tone === 'critical' ? 'alert' : 'status'}">${icon(name)} <span>${words}</span></p>`

/**
 * Usage against a limit, in MB, or as the label says: a bar of 100 units. Beyond the limit, the bar is the usage, and a
 * stroke the limit.
 */
export function meter(usedMB: number, limitMB: number, label = ofLimit(usedMB, limitMB)): Html {
  const whole = Math.max(usedMB, limitMB)
  const share = (mb: number) => (whole === 0 ? 0 : Math.round((mb / whole) * 1000) / 10)
  const within = share(Math.min(usedMB, limitMB))
  const over = usedMB > limitMB ? 100 - within : 0
  return html`<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${label}">
<rect class="track" width="100" height="8"/>
<rect class="used" width="${within}" height="8"/>
${over === 0 ? '' : html`<rect class="over" x="${within}" width="${over}" height="8"/>`}
</svg>`
}

/** How long ago an instant was; the instant itself in UTC beside it. @param now epoch milliseconds */
export function ago(at: string | null, now: number, never = 'never'): Html {
  if (at === null) return html`<span class="mute">${never}</span>`
  const ms = now - Date.parse(at)
  const words = ms < 60_000 ? 'just now' : `${duration(largest(ms))} ago`
  return html`<time datetime="${at}" title="${instant(at)}">${words}</time>`
}

/** How long until an instant. @param now epoch milliseconds */
export function ahead(at: string, now: number): Html {
  const ms = Date.parse(at) - now
  const words = ms <= 0 ? 'now' : ms < 60_000 ? 'within a minute' : `in ${duration(largest(ms))}`
  return html`<time datetime="${at}" title="${instant(at)}">${words}</time>`
}

export const often = (times: number): string => (times === 1 ? 'once' : `${count(times)} times`)

/** An instant to the minute, in UTC. */
export const instantMark = (at: string): Html => html`<time datetime="${at}">${instant(at)}</time>`

/** Cut to its largest unit: `36 h`, not `36 h 12 min`. */
function largest(ms: number): number {
  const unit = [86_400_000 * 2, 3_600_000, 60_000].find((one) => ms >= one) ?? 1
  const size = unit === 86_400_000 * 2 ? 86_400_000 : unit
  return Math.floor(ms / size) * size
}

/** The name of an actor: of its key, or else its own. */
export const actorMark = (name: string | null, actor: string | null): Html =>
  html`<bdi>${name ?? actor ?? 'the service'}</bdi>`

/** Digits in groups of four, as they are printed on a card. */
export const grouped = (digits: string): string => digits.replaceAll(/(.{4})(?=.)/g, '$1 ')

export interface PanelWords {
  readonly title: string
  readonly id: string
  /** Beside the title. */
  readonly note?: string
}

/** A box with a title. */
export const panel = ({ title, id, note = '' }: PanelWords, body: Html | readonly Html[]): Html => html`
<section class="panel" aria-labelledby="${id}">
<h2 id="${id}">${title}${note === '' ? '' : html` <small>${note}</small>`}</h2>
${body}
</section>`

/** A panel of a part that may be missing; nothing for one that the key may not see. */
export function panelOf<T>(words: PanelWords, part: Part<T>, body: (data: T) => Html): Html | '' {
  if (part === null) return ''
  return panel(words, 'data' in part ? body(part.data) : missingLine(part))
}

/** Why a part is missing. A live page is read again at each beat until the part has come (assets/live.js). */
export const missingLine = ({ missing, isComing }: Missing): Html =>
  isComing === true
    ? html`<p class="missing" data-moving>${missing}</p>`
    : html`<p class="missing">Cannot be read: ${missing}</p>`

/** A row of a list of class `log`. @param end a time or a state */
export const logRow = (mark: Html, words: Html | string, end: Html | string = ''): Html =>
  html`<li>${mark}<span>${words}</span>${end}</li>`

/** A quiet row: an icon, words, and at the end a time or a state. */
export const line = (name: IconName, words: Html | string, end: Html | string = ''): Html =>
  logRow(html`<span class="mark quiet">${icon(name)}</span>`, words, end)

/** A row for an entry of the watchdog's log. */
export const entryRow = (
  { level, message, date }: Pick<WatchdogLogEntry, 'level' | 'message' | 'date'>,
  now: number,
): Html => logRow(levelMark(level), html`<bdi>${message}</bdi>`, ago(date, now))

/** The newest entries of the log of a SIM or a pool. */
export const entryList = (log: readonly WatchdogLogEntry[], now: number): Html =>
  log.length === 0
    ? html`<p class="empty">No entry in the watchdog's log.</p>`
    : html`<ol class="log">
${log.map((entry) => entryRow(entry, now))}
</ol>`

/** A text of others as it is, in a box of its own that scrolls. @param label of the box */
export const textBox = (label: string, text: string): Html =>
  html`<pre class="source" tabindex="0" role="region" aria-label="${label}">${text}</pre>`

/** Names and values. */
export const facts = (rows: readonly (readonly [string, Html | string])[]): Html => html`<dl class="facts">
${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`
