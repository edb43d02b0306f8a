/** A backtest that a worker does: asked for, and waited for. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type InternalClient, idempotent } from '../../client/client.ts'
import type { Settings } from '../../config/index.ts'
import type { BacktestReport } from '../../domain/replay/backtest.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { askingAboutRules, filesIn } from './ask.ts'

const LOOK_EVERY_MS = 1000
/** While it waits, the service may be started anew. */
const PATIENCE_MS = 60_000

export interface AskFlags {
  readonly version?: number
  readonly cycles: number
  readonly besideActive?: boolean
  readonly wait: boolean
  readonly output: 'text' | 'json'
}

export interface Asked {
  readonly tenant: string
  /** Rule files; empty: a version. */
  readonly folder: string
}

/** Asks for a backtest, and waits for its report. @returns undefined without `wait`: then its id is printed */
export async function askBacktest(
  settings: Settings,
  { tenant: tenantId, folder }: Asked,
  flags: AskFlags,
): Promise<BacktestReport | undefined> {
  const { version, cycles, besideActive = false, wait, output } = flags
  const rules = folder === '' ? version !== undefined && { version } : { files: await filesIn(folder) }
  const body = { tenantId, cycles, besideActive, ...rules }
  const asked = await askingAboutRules(settings, (service) =>
    responseOf(service.POST('/internal/rules/backtests', { params: idempotent(crypto.randomUUID()), body })),
  )
  if (wait) return readReport(settings, asked.id, flags)
  print(output === 'json' ? JSON.stringify(asked, null, 2) : String(asked.id))
  return undefined
}

/** The report of a backtest, waited for unless `wait` is false. @throws CommandFailure if it failed, or has not ended */
export async function readReport(
  settings: Settings,
  id: number,
  { wait }: Pick<AskFlags, 'wait'>,
): Promise<BacktestReport> {
  return askingAboutRules(settings, (service) => waitFor(service, id, wait), PATIENCE_MS)
}

async function waitFor(service: InternalClient, id: number, wait: boolean): Promise<BacktestReport> {
  const tell = progress()
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
    await tell(recordsDone, records ?? 0)
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
