/** `simherd rules backtest [folder] --tenant <id>`: what rules would have done in past billing cycles. */
import type { Settings } from '../../config/index.ts'
import type { BacktestReport } from '../../domain/replay/backtest.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { print } from '../print.ts'
import { type AskFlags, askBacktest, readReport } from './ask-backtest.ts'
import { linesOf } from './backtest-report.ts'

export interface BacktestFlags extends AskFlags {
  readonly tenant?: string
  /** A backtest that was asked for before. */
  readonly id?: number
  /** Reads the database itself, in place of asking a service. */
  readonly direct?: true
}

/**
 * @param folder rule files; empty: those of `version`, or what is in force
 * @throws CommandFailure for faults in the rules, or a backtest that failed; with `direct` without DATABASE_URL, or where
 *   another runs
 */
export async function backtestRules(settings: Settings, folder: string, flags: BacktestFlags): Promise<void> {
  const report = await reportOf(settings, folder, flags)
  if (report !== undefined)
    print(flags.output === 'json' ? JSON.stringify(report, null, 2) : linesOf(report).join('\n'))
}

async function reportOf(settings: Settings, folder: string, flags: BacktestFlags): Promise<BacktestReport | undefined> {
  const { tenant, id, version, direct = false, wait } = flags
  if (folder !== '' && version !== undefined) throw usage('got a folder and --version, expected one of them')
  if (direct && !wait) throw usage('got --direct and --no-wait: without a service nobody goes on with it')
  if (id !== undefined) {
    if (tenant !== undefined || version !== undefined || folder !== '' || direct)
      throw usage('got --id and something to ask: --id is of a backtest that was asked for before')
    return readReport(settings, id, flags)
  }
  if (tenant === undefined) throw usage('got neither --tenant nor --id: say whose past')
  const question = { tenant, folder }
  if (!direct) return askBacktest(settings, question, flags)
  const { backtestDirectly } = await import('./direct-backtest.ts')
  return backtestDirectly(settings, question, flags)
}

const usage = (message: string) => new CommandFailure(message, ExitCode.usage)
