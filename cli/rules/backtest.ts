/** `simherd rules backtest [folder] --tenant <id>`: what rules would have done in past billing cycles. A worker does it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type InternalClient, idempotent } from '../../adapters/rest/client.ts'
import type { BacktestReport } from '../../domain/backtests/backtest.ts'
import type { Settings } from '../../process/settings.ts'
import { askOnce, askService } from '../ask-service.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { filesIn } from './ask.ts'
import { linesOf } from './backtest-report.ts'

const LOOK_EVERY_MS = 1000
/** The service may restart during the wait. */
const PATIENCE_MS = 60_000

interface BacktestFlags {
  readonly tenant?: string
  readonly version?: number
  readonly cycles: number
  /** Whether to wait for the report. */
  readonly wait: boolean
  /** A backtest requested earlier. */
  readonly id?: number
  readonly output: 'text' | 'json'
}

/**
 * @param folder rule files; empty: those of `version`, or the rules in force
 * @throws CommandFailure for faults in the rules, or a backtest that failed
 */
export async function backtestRules(settings: Settings, folder: string, flags: BacktestFlags): Promise<void> {
  const report = await reportOf(settings, folder, flags)
  if (report !== undefined) printAnswer(flags, report, linesOf)
}

async function reportOf(settings: Settings, folder: string, flags: BacktestFlags): Promise<BacktestReport | undefined> {
  const { tenant, id, version, wait } = flags
  if (folder !== '' && version !== undefined) throw usage('got a folder and --version, expected one of them')
  if (id !== undefined) {
    if (tenant !== undefined || version !== undefined || folder !== '')
      throw usage('got --id and something to ask: --id is of a backtest that was asked for before')
    return readReport(settings, id, wait)
  }
  if (tenant === undefined) throw usage('got neither --tenant nor --id: say whose past')
  return askBacktest(settings, { ...flags, tenant, folder })
}

const usage = (message: string) => new CommandFailure(message, ExitCode.usage)

/** Asks for a backtest, and waits for its report. @returns undefined without `wait`: then its id is printed */
async function askBacktest(
  settings: Settings,
  { tenant: tenantId, folder, version, cycles, wait, output }: BacktestFlags & { tenant: string; folder: string },
): Promise<BacktestReport | undefined> {
  const rules = folder === '' ? version !== undefined && { version } : { files: [...(await filesIn(folder)).rules] }
  const body = { tenantId, cycles, ...rules }
  const options = { params: idempotent(), body }
  const asked = await askOnce(settings, (service) => service.POST('/internal/rules/backtests', options))
  if (wait) return readReport(settings, asked.id, wait)
  printAnswer({ output }, asked, ({ id }) => [String(id)])
  return undefined
}

/** The report of a backtest, waited for unless `wait` is false. @throws CommandFailure if it failed, or has not ended */
const readReport = (settings: Settings, id: number, wait: boolean): Promise<BacktestReport> =>
  askService({ settings, patienceMs: PATIENCE_MS }, (service) => waitFor(service, id, wait))

async function waitFor(service: InternalClient, id: number, wait: boolean): Promise<BacktestReport> {
  const printChange = progress()
  for (let said = ''; ; await sleep(LOOK_EVERY_MS)) {
    const params = { path: { id } }
    const { state, report, failure, records, recordsDone } = await responseOf(
      service.GET('/internal/rules/backtests/{id}', { params }),
    )
    if (report !== null) return report
    if (failure !== null) throw new CommandFailure(`backtest ${id}: ${failure}`)
    if (!wait) throw new CommandFailure(`backtest ${id} is ${state}, and has no report yet`, ExitCode.conflict)
    if (state !== said) process.stderr.write(`backtest ${id} is ${state}\n`)
    said = state
    await printChange(recordsDone, records ?? 0)
  }
}

/** Says each tenth of the records. */
export function progress(): (done: number, of: number) => Promise<void> {
  let told = 0
  return async (done, of) => {
    const tenth = of === 0 ? 0 : Math.floor((10 * done) / of)
    if (tenth > told) process.stderr.write(`${done} of ${of} usage records\n`)
    told = Math.max(told, tenth)
  }
}
