/** What a backtest's report says, for people. */
import { counted } from '../../domain/quantity.ts'
import type { BacktestReport, BesideActive } from '../../domain/replay/backtest.ts'
import { table } from '../table.ts'

export function linesOf(report: BacktestReport): string[] {
  const { noise, log, undecided } = report
  const whose = report.version === null ? 'These files' : `Version ${report.version}`
  const perDay = (n: number) => Math.round(n * 10) / 10
  return [
    `${whose}, tenant ${report.tenantId}, ${day(report.from)} to ${day(report.until)}: ${counted(report.records, 'usage record')} in ${report.seconds} s`,
    '',
    ...table(
      ['rule', 'entries', 'fired', 'flapped', 'suspended', 'would log', 'would mail', 'would suspend'],
      report.rules.map((one) => [
        one.rule,
        one.entries,
        one.fired,
        one.flapped,
        one.suspended,
        one.wouldLog,
        one.wouldMail,
        one.wouldSuspend,
      ]),
    ),
    '',
    `A day: ${perDay(noise.entriesPerDay)} entries, ${perDay(noise.mailsPerDay)} mails. Of ${counted(noise.fired, 'alert')}, ${noise.overWithinHour} ended within an hour.`,
    ...report.mails.map(({ recipient, mails }) => `Mails to ${recipient}: ${mails}`),
    `Loudest: ${noise.loudest.map(({ label, entries }) => `${label} (${entries})`).join(', ') || 'nobody'}`,
    '',
    `Beside the log: ${log.both} in both, ${log.onlyReplay} only here, ${log.onlyLog} only there`,
    ...log.examples.map(exampleLine),
    ...(report.active === undefined ? [] : linesBeside(report, report.active)),
    '',
    `Not decided: ${counted(undecided.records, 'record')}, ${counted(undecided.tickets, 'ticket')}, ${counted(undecided.settings, 'setting')}`,
    ...report.limits,
  ]
}

const exampleLine = ({
  where,
  at,
  key,
}: BacktestReport['log']['examples'][number] | BesideActive['examples'][number]) =>
  `  ${where === 'replay' ? '+' : '-'} ${at} ${key}`

/** What is different from the rules in force, rule by rule. */
function linesBeside(report: BacktestReport, active: BesideActive): string[] {
  const names = [...new Set([...report.rules, ...active.rules].map(({ rule }) => rule))].toSorted()
  const of = (rules: BacktestReport['rules'], name: string) => rules.find(({ rule }) => rule === name)
  const mails = (all: BacktestReport['mails']) => all.reduce((sum, one) => sum + one.mails, 0)
  return [
    '',
    `Beside version ${active.version}, which is in force: ${active.both} in both, ${active.onlyReplay} only here, ${active.onlyActive} only there`,
    ...active.examples.map(exampleLine),
    '',
    ...table(
      ['', 'entries', 'in force', 'suspended', 'in force'],
      [
        ...names.map((name) => {
          const [here, there] = [of(report.rules, name), of(active.rules, name)]
          return [name, here?.entries ?? 0, there?.entries ?? 0, here?.suspended ?? 0, there?.suspended ?? 0]
        }),
        ['mails', mails(report.mails), mails(active.mails), '', ''],
      ],
    ),
  ]
}

const day = (at: string): string => at.slice(0, 16).replace('T', ' ')
