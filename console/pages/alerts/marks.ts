/** Words and marks of alerts, for their lists and pages. */
import { html } from 'hono/html'
import type { Alert } from '../../../domain/alerts/alert.ts'
import { WITHHELD } from '../../../domain/alerts/withheld.ts'
import { LogLevel } from '../../../domain/codes.ts'
import type { Html } from '../../parts/html.ts'
import { actorMark, ago, instantMark, levelMark, logRow } from '../../parts/marks.ts'
import { poolLink } from '../pools/marks.ts'

const PHASE_WORDS: Readonly<Record<Alert['phase'], string>> = {
  pending: 'Pending',
  firing: 'Firing',
  recovering: 'Recovering',
  resolved: 'Ended',
}
export const phaseBadge = ({ phase, level }: Pick<Alert, 'phase' | 'level'>): Html => {
  const loud = level === LogLevel.Critical ? 'critical' : level === LogLevel.Warning ? 'warning' : 'quiet'
  return html`<span class="badge ${phase === 'firing' ? loud : 'quiet'}">${PHASE_WORDS[phase]}</span>`
}

/** The subject in words, without a link. */
export function subjectWords({ kind, id, label }: Alert['subject']): Html {
  if (kind === 'tenant') return html`The tenant`
  const name = { sim: 'SIM', pool: 'Pool', tag: 'Tags' }[kind]
  return html`${name} <bdi>${label ?? String(id)}</bdi>`
}

/** Leads to the SIM or the pool. Other subjects have no page. */
export function subjectLink(tenantId: string, subject: Alert['subject']): Html {
  const { kind, id, label } = subject
  if (kind === 'pool') return html`Pool ${poolLink(tenantId, id, label ?? undefined)}`
  if (kind !== 'sim' || label === null) return subjectWords(subject)
  return html`<a href="/t/${tenantId}/sims/${id}"><bdi>${label}</bdi></a>`
}

/** What is withheld, briefly. */
export const withheldWords = ({ withheld, silencedUntil }: Alert): Html[] =>
  withheld.map((why) => {
    const until = why === 'silenced' && silencedUntil !== null ? html` until ${instantMark(silencedUntil)}` : ''
    return html`<span>${WITHHELD[why].brief}${until}</span>`
  })

/** Who has acknowledged it. */
export const acknowledger = ({ acknowledgedBy, acknowledgedByName }: Alert): Html =>
  actorMark(acknowledgedByName, acknowledgedBy)

/** The open alerts of a SIM or a pool. */
export const alertList = (tenantId: string, alerts: readonly Alert[], now: number): Html =>
  alerts.length === 0
    ? html`<p class="empty">No alert.</p>`
    : html`<ul class="log">
${alerts.map((alert) => {
  const words = html`<a href="/t/${tenantId}/alerts/${alert.id}"><bdi>${alert.message ?? alert.rule}</bdi></a>
<small>${phaseBadge(alert)} <bdi>${alert.rule}</bdi></small>`
  return logRow(levelMark(alert.level), words, ago(alert.since, now))
})}
</ul>`
