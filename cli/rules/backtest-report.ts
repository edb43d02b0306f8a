/** The text of a backtest's report, for people. */

import { type BacktestReport, RULE_EFFECTS, undecidedWords } from '../../domain/backtests/backtest.ts'
import { counted } from '../../domain/quantity.ts'
import { table } from '../table.ts'

export function linesOf(report: BacktestReport): string[] {
  const { noise, log, undecided } = report
  const whose = report.version === null ? 'These files' : `Version ${report.version}`
  const perDay = (n: number) => Math.round(n * 10) / 10
  return [
    `${whose}, tenant ${report.tenantId}, ${day(report.from)} to ${day(report.until)}: ${counted(report.records, 'usage record')} in ${report.seconds} s`,
    '',
    ...table(
      ['rule', ...RULE_EFFECTS.map(([, words]) => words)],
      report.rules.map((one) => [one.rule, ...RULE_EFFECTS.map(([effect]) => one[effect])]),
    ),
    '',
    `A day: ${perDay(noise.entriesPerDay)} entries, ${perDay(noise.mailsPerDay)} mails. Of ${counted(noise.fired, 'alert')}, ${noise.overWithinHour} ended within an hour.`,
    ...report.mails.map(({ recipient, mails }) => `Mails to ${recipient}: ${mails}`),
    `Loudest: ${noise.loudest.map(({ label, entries }) => `${label} (${entries})`).join(', ') || 'nobody'}`,
    '',
    `Beside the log: ${log.both} in both, ${log.onlyReplay} only here, ${log.onlyLog} only there`,
    ...log.examples.map(({ where, at, key }) => `  ${where === 'replay' ? '+' : '-'} ${at} ${key}`),
    '',
    `Not decided: ${undecidedWords(undecided)}`,
    ...report.limits,
  ]
}

const day = (at: string): string => at.slice(0, 16).replace('T', ' ')
