/** `simherd schedule pause|resume --tenant <id>` */

import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'

export const pauseSchedule = (settings: Settings, { tenant }: TenantFlags): Promise<void> =>
  changeSchedule(settings, tenant, 'pause')

export const resumeSchedule = (settings: Settings, { tenant }: TenantFlags): Promise<void> =>
  changeSchedule(settings, tenant, 'resume')

const changeSchedule = (settings: Settings, tenantId: string, action: 'pause' | 'resume'): Promise<void> =>
  askService({ settings, tenantId }, async (service) => {
    const { paused, nextAt } = await responseOf(service.POST(`/internal/schedules/month-end/${action}`))
    const next = nextAt === null ? '' : `; the next cycle ends at ${nextAt}`
    print(
      paused
        ? `paused: no month end of ${tenantId} starts by itself`
        : `resumed: month ends of ${tenantId} start by themselves${next}`,
    )
  })
