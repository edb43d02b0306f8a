import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Instant, nullable, strictObject } from '../../domain/schema.ts'
import type { InternalOptions } from '../server.ts'

const ScheduleInfo = strictObject({
  scheduleId: Type.String(),
  paused: Type.Boolean(),
  note: nullable(Type.String({ description: 'Why it is paused or runs' })),
  nextAt: nullable(Instant('The next cycle end')),
  lastAt: nullable(Instant('The last cycle end it started a month end for')),
})

export const scheduleRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { lifecycles }) => {
  const tags = ['Workflows']

  app.get(
    '/schedules/month-end',
    {
      schema: {
        operationId: 'readMonthEndSchedule',
        summary: 'The Schedule that starts the month end',
        tags,
        response: { 200: ScheduleInfo },
      },
    },
    ({ tenantId }) => lifecycles.describeSchedule(tenantId),
  )

  app.post(
    '/schedules/month-end/pause',
    {
      schema: {
        operationId: 'pauseMonthEndSchedule',
        summary: 'Start no month ends until it is resumed',
        tags,
        response: { 200: ScheduleInfo },
      },
    },
    async ({ tenantId }) => {
      await lifecycles.pauseSchedule(tenantId, 'paused by the internal interface')
      return lifecycles.describeSchedule(tenantId)
    },
  )

  app.post(
    '/schedules/month-end/resume',
    {
      schema: {
        operationId: 'resumeMonthEndSchedule',
        summary: 'Start month ends again',
        tags,
        response: { 200: ScheduleInfo },
      },
    },
    async ({ tenantId }) => {
      await lifecycles.resumeSchedule(tenantId, 'resumed by the internal interface')
      return lifecycles.describeSchedule(tenantId)
    },
  )
}
