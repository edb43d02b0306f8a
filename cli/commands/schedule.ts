/** `simherd schedule pause|resume --tenant <id>` */
import type { Settings } from '../../process/settings.ts'
import { print } from '../print.ts'
import { internalClient, refused, responseOf } from '../service.ts'
import { serviceOf } from '../service-address.ts'

/** How long to wait for an unreachable service. Short, because a person is waiting. */
const PATIENCE_MS = 5000

export async function setSchedule(settings: Settings, action: 'pause' | 'resume', tenantId: string): Promise<void> {
  const { url, key } = await serviceOf(settings)
  const service = internalClient({ url, key, tenantId, patienceMs: PATIENCE_MS })
  try {
    const { paused, nextAt } = await responseOf(service.POST(`/internal/schedules/month-end/${action}`))
    const next = nextAt === null ? '' : `; the next cycle ends at ${nextAt}`
    print(
      paused
        ? `paused: no month end of ${tenantId} starts by itself`
        : `resumed: month ends of ${tenantId} start by themselves${next}`,
    )
  } catch (error) {
    refused(error)
  }
}
