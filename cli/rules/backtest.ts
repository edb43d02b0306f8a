/** `simherd rules backtest [folder] --tenant <id>`: what rules would have done in past billing cycles. Reads the database itself. */
import type { Settings } from '../../config/index.ts'
import { ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import { renderMail } from '../../notify/render.ts'
import { type BacktestReport, backtest } from '../../operations/replay/backtest.ts'
import { evaluationOptions } from '../../process/options.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { connect } from '../../store/connect.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'
import { table } from '../table.ts'

export interface BacktestFlags {
  readonly tenant: string
  readonly version?: number
  readonly cycles: number
  readonly output: 'text' | 'json'
}

/**
 * @param folder rule files; empty: those of `version`, or what is in force
 * @throws CommandFailure without DATABASE_URL, for faults in the rules, or where another backtest runs
 */
export async function backtestRules(settings: Settings, folder: string, flags: BacktestFlags): Promise<void> {
  if (folder !== '' && flags.version !== undefined)
    throw new CommandFailure('got a folder and --version, expected one of them', ExitCode.usage)
  const rules = folder === '' ? (flags.version ?? null) : await filesOf(folder)
  const { DATABASE_URL } = settings
  if (DATABASE_URL === '')
    throw new CommandFailure('DATABASE_URL is not set: say which database to read.', ExitCode.usage)
  const { db, close } = connect(DATABASE_URL, { max: 1 })
  try {
    const report = await db.connection().execute((one) =>
      backtest(
        one,
        Date.now,
        { tenantId: flags.tenant, cycles: flags.cycles, rules },
        {
          evaluation: evaluationOptions(settings),
          render: (notifications, isCopy) => renderMail(notifications, null, isCopy),
          onProgress: progress(),
        },
      ),
    )
    print(flags.output === 'json' ? JSON.stringify(report, null, 2) : linesOf(report).join('\n'))
  } catch (error) {
    if (error instanceof ServiceError) throw failureOf(error)
    throw error
  } finally {
    await close()
  }
}

const failureOf = (error: ServiceError): CommandFailure => {
  const faults = error.errors.map(({ pointer, detail }) => `${pointer}: ${detail}`)
  return new CommandFailure([error.message, ...faults].join('\n'), ExitCode.failure, { cause: error })
}

const filesOf = (folder: string) =>
  readRuleFiles(folder).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })

/** Says each tenth of the records. */
function progress(): (done: number, of: number) => Promise<void> {
  let told = 0
  return async (done, of) => {
    const tenth = of === 0 ? 0 : Math.floor((10 * done) / of)
    if (tenth > told) process.stderr.write(`${done} of ${of} usage records\n`)
    told = Math.max(told, tenth)
  }
}

function linesOf(report: BacktestReport): string[] {
  const { noise, log, undecided } = report
  const whose = report.version === null ? 'These files' : `Version ${report.version}`
  const perDay = (n: number) => Math.round(n * 10) / 10
  return [
    `${whose}, tenant ${report.tenantId}, ${day(report.from)} to ${day(report.until)}: ${counted(report.records, 'usage record')} in ${report.seconds} s`,
    '',
    ...table(
      ['rule', 'entries', 'fired', 'flapped', 'would suspend', 'suspended'],
      report.rules.map((one) => [
        one.rule,
        ...[one.entries, one.fired, one.flapped, one.wouldSuspend, one.suspended].map(String),
      ]),
    ),
    '',
    `A day: ${perDay(noise.entriesPerDay)} entries, ${perDay(noise.mailsPerDay)} mails. Of ${counted(noise.fired, 'alert')}, ${noise.overWithinHour} ended within an hour.`,
    ...report.mails.map(({ recipient, mails }) => `Mails to ${recipient}: ${mails}`),
    `Loudest: ${noise.loudest.map(({ label, entries }) => `${label} (${entries})`).join(', ') || 'nobody'}`,
    '',
    `Beside the log: ${log.both} in both, ${log.onlyReplay} only here, ${log.onlyLog} only there`,
    ...log.examples.map(({ where, at, key }) => `  ${where === 'replay' ? '+' : '-'} ${at.toISOString()} ${key}`),
    '',
    `Not decided: ${counted(undecided.records, 'record')}, ${counted(undecided.tickets, 'ticket')}, ${counted(undecided.settings, 'setting')}`,
    ...report.limits,
  ]
}

const day = (at: string): string => at.slice(0, 16).replace('T', ' ')
