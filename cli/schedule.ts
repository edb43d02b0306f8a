/** `simherd schedule pause|resume --tenant <id>` */
import { Type } from 'typebox'
import type { Settings } from '../config/index.ts'
import { CommandFailure, ExitCode } from './failures.ts'
import { caller, ServiceAnswer } from './service.ts'
import { readStack } from './start/stack-file.ts'

const Schedule = Type.Object({ paused: Type.Boolean(), nextAt: Type.Union([Type.String(), Type.Null()]) })
/** A person waits. */
const PATIENCE_MS = 5000

export async function setSchedule(settings: Settings, action: 'pause' | 'resume', tenantId: string): Promise<void> {
  const { url, key } = await serviceOf(settings)
  const service = caller({ url, key, tenantId, patienceMs: PATIENCE_MS })
  try {
    const { paused, nextAt } = await service.post(`/internal/schedules/month-end/${action}`, {}, Schedule)
    const next = nextAt === null ? '' : `; the next cycle ends at ${nextAt}`
    console.log(
      paused
        ? `paused: no month end of ${tenantId} starts by itself`
        : `resumed: month ends of ${tenantId} start by themselves${next}`,
    )
  } catch (error) {
    if (!(error instanceof ServiceAnswer)) throw error
    const exitCode =
      error.status === 404 ? ExitCode.notFound : error.status === 409 ? ExitCode.conflict : ExitCode.failure
    throw new CommandFailure(error.message, exitCode, { cause: error })
  }
}

/** The service that the settings name, else the one that `simherd start` runs in the data folder. */
async function serviceOf(settings: Settings): Promise<{ readonly url: string; readonly key: string }> {
  if (settings.SERVICE_KEY !== '') {
    return {
      url: settings.SERVICE_INTERNAL_URL || `http://127.0.0.1:${settings.INTERNAL_PORT}`,
      key: settings.SERVICE_KEY,
    }
  }
  const stack = await readStack(settings.DATA_DIR)
  if (stack !== undefined) return { url: stack.internalUrl, key: stack.operatorKey }
  throw new CommandFailure(
    `no service: nothing runs in ${settings.DATA_DIR} ("npm start" does), and SERVICE_KEY is not set. ` +
      'Set DATA_DIR to the folder of a running one, or SERVICE_INTERNAL_URL and SERVICE_KEY.',
    ExitCode.unreachable,
  )
}
