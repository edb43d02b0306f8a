/** The panels of a report. Its counts stand beside those of another, if there is one. */
import { html } from 'hono/html'
import { type BacktestReport, RULE_EFFECTS } from '../../../domain/backtests/backtest.ts'
import { counted } from '../../../domain/quantity.ts'
import { capital } from '../../../domain/text.ts'
import { type BarGroup, type BarRow, barTable } from '../../parts/bars.ts'
import type { Html } from '../../parts/html.ts'
import { instantMark, line, panel } from '../../parts/marks.ts'
import { subjectLink } from '../alerts/marks.ts'

/** Rules in the picture: those with the most entries. */
const MOST_RULES = 18

/** By rule what it does, and what it would do. */
export function rulePanel(columns: readonly string[], reports: readonly BacktestReport[]): Html {
  const effects = RULE_EFFECTS.map(([effect, words]) => ({ effect, words: capital(words) }))
  const groups = namesIn(reports, ({ rules }) => rules.map(({ rule }) => rule)).map((name): BarGroup => {
    const counts = reports.map(({ rules }) => rules.find(({ rule }) => rule === name))
    const rows = effects.map(({ effect, words }) => {
      const values = counts.map((one) => one?.[effect] ?? 0)
      return { words, values, isWould: effect.startsWith('would') }
    })
    return { name, rows: rows.filter(({ values }) => values.some((value) => value > 0)) }
  })
  const others = groups.length - MOST_RULES
  return panel(
    { title: 'Rules', id: 'rules', note: 'Pale: kept from it by stage or mode' },
    html`${groups.length === 0 ? html`<p class="empty">No rule does anything.</p>` : barTable('Effect', columns, groups.slice(0, MOST_RULES))}
${others > 0 ? html`<p>And ${counted(others, 'other rule')}: <code>simherd rules backtest --id</code> has all.</p>` : ''}`,
  )
}

/** Over all rules: entries compared with the log, noise, and mails. */
export function totalPanel(columns: readonly string[], reports: readonly BacktestReport[]): Html {
  const row = (words: string, valueOf: (report: BacktestReport) => number): BarRow => ({
    words,
    values: reports.map(valueOf),
  })
  const log = [
    row('In both', (report) => report.log.both),
    row('Only in the backtest', (report) => report.log.onlyReplay),
    row('Only in the log', (report) => report.log.onlyLog),
  ]
  const daily = [row('Entries', ({ noise }) => noise.entriesPerDay), row('Mails', ({ noise }) => noise.mailsPerDay)]
  const alerts = [
    row('Fired', ({ noise }) => noise.fired),
    row('Ended within an hour', ({ noise }) => noise.overWithinHour),
  ]
  const mails = namesIn(reports, (report) => report.mails.map(({ recipient }) => recipient)).map((name) =>
    row(name, (report) => report.mails.find(({ recipient }) => recipient === name)?.mails ?? 0),
  )
  const groups = [
    { name: 'Entries, compared with the log', rows: log },
    { name: 'A day', rows: daily },
    { name: 'Alerts', rows: alerts },
    { name: 'Mails by recipient', rows: mails },
  ]
  const filled = groups.filter(({ rows }) => rows.length > 0)
  return panel({ title: 'In all', id: 'all' }, barTable('Count', columns, filled))
}

/** Names in the reports, those of the last report first. */
const namesIn = (reports: readonly BacktestReport[], namesOf: (report: BacktestReport) => string[]): string[] => [
  ...new Set(reports.toReversed().flatMap(namesOf)),
]

export function differencePanel({ log }: BacktestReport): Html | '' {
  const rows = log.examples.map(({ where, key, at, message }) => {
    const only = where === 'replay' ? 'Only in the backtest' : 'Only in the log'
    const words = html`<bdi>${message}</bdi><small>${only}: <bdi>${key}</bdi></small>`
    return line(where === 'replay' ? 'backtest' : 'history', words, instantMark(at))
  })
  return listPanel('Differences from the log, the earliest', 'differences', rows)
}

export function loudestPanel(tenantId: string, { noise }: BacktestReport): Html | '' {
  const rows = noise.loudest.map(({ kind, id, label, entries }) =>
    line('bell', subjectLink(tenantId, { kind, id: id ?? 0, label }), counted(entries, 'entry', 'entries')),
  )
  return listPanel('Loudest subjects', 'loudest', rows)
}

export const limitPanel = ({ limits }: BacktestReport): Html | '' =>
  listPanel(
    'Limits of a backtest',
    'limits',
    limits.map((words) => line('info', words)),
  )

const listPanel = (title: string, id: string, rows: readonly Html[]): Html | '' =>
  rows.length === 0 ? '' : panel({ title, id }, html`<ul class="log">${rows}</ul>`)
