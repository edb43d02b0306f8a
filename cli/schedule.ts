/** `simherd schedule pause|resume --tenant <id>` */
import { Type } from 'typebox'
import type { Settings } from '../config/index.ts'
import { CommandFailure } from './failures.ts'
import { caller, exitCodeOf, ServiceAnswer } from './service.ts'
import { serviceOf } from './service-address.ts'

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
    throw new CommandFailure(error.message, exitCodeOf(error), { cause: error })
  }
}
