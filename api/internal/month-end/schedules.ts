import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Instant, nullable, strictObject } from '../../../domain/schema.ts'
import { noteChange } from '../../../store/audit.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { onBehalfOf } from '../../http/change.ts'
import type { InternalOptions } from '../../options.ts'

const ScheduleInfo = strictObject({
  scheduleId: Type.String(),
  paused: Type.Boolean(),
  note: nullable(Type.String({ description: 'Why it is paused or runs' })),
  nextAt: nullable(Instant('When it starts the next month end: within ten minutes of a cycle end')),
  lastAt: nullable(Instant('When it started a month end the last time')),
})

export const scheduleRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store, workflowClient }) => {
  const tags = ['Workflows']
  const note = (request: FastifyRequest, paused: boolean) =>
    inTenant(onBehalfOf(store, request), request.tenantId, (tx) =>
      noteChange(tx, { subject: 'schedule', id: 'month-end', before: null, after: { paused } }),
    )

  app.get(
    '/schedules/month-end',
    {
      config: { problems: ['not_found'] },
      schema: {
        operationId: 'readMonthEndSchedule',
        summary: 'The Schedule that starts the month end',
        tags,
        response: { 200: ScheduleInfo },
      },
    },
    ({ tenantId }) => workflowClient.describeSchedule(tenantId),
  )

  app.post(
    '/schedules/month-end/pause',
    {
      config: { problems: ['not_found'], idempotent: false },
      schema: {
        operationId: 'pauseMonthEndSchedule',
        summary: 'Start no month ends until it is resumed',
        tags,
        response: { 200: ScheduleInfo },
      },
    },
    async (request) => {
      const { tenantId } = request
      await note(request, true)
      await workflowClient.pauseSchedule(tenantId, 'paused by the internal interface')
      return workflowClient.describeSchedule(tenantId)
    },
  )

  app.post(
    '/schedules/month-end/resume',
    {
      config: { problems: ['not_found'], idempotent: false },
      schema: {
        operationId: 'resumeMonthEndSchedule',
        summary: 'Start month ends again',
        tags,
        response: { 200: ScheduleInfo },
      },
    },
    async (request) => {
      const { tenantId } = request
      await note(request, false)
      await workflowClient.resumeSchedule(tenantId, 'resumed by the internal interface')
      return workflowClient.describeSchedule(tenantId)
    },
  )
}
