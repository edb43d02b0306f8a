/** A backtest without a service: the command reads the database itself. */
import type { Settings } from '../../config/index.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { BacktestReport } from '../../domain/replay/backtest.ts'
import { renderMail } from '../../notify/render.ts'
import { backtest } from '../../operations/replay/backtest.ts'
import { directUrl, evaluationOptions } from '../../process/options.ts'
import { connect } from '../../store/connect.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { filesIn } from './ask.ts'
import { type Asked, type AskFlags, progress } from './ask-backtest.ts'

/** @throws CommandFailure without DATABASE_URL, for faults in the rules, or where another backtest runs */
export async function backtestDirectly(
  settings: Settings,
  { tenant: tenantId, folder }: Asked,
  { version, cycles, besideActive }: Pick<AskFlags, 'version' | 'cycles' | 'besideActive'>,
): Promise<BacktestReport> {
  const rules = folder === '' ? (version ?? null) : await filesIn(folder)
  const url = directUrl(settings)
  if (url === '') throw new CommandFailure('DATABASE_URL is not set: say which database to read.', ExitCode.usage)
  const { db, close } = connect(url, { max: 1 })
  try {
    return await db.connection().execute((one) =>
      backtest(
        one,
        Date.now,
        { tenantId, cycles, rules, ...(besideActive === undefined ? {} : { besideActive }) },
        {
          evaluation: evaluationOptions(settings),
          render: (notifications, isCopy) => renderMail(notifications, null, isCopy),
          onProgress: progress(),
        },
      ),
    )
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
