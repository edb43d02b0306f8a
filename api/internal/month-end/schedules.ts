import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Instant, nullable, strictObject } from '../../../domain/schema.ts'
import { noteChange } from '../../../store/audit.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
import type { InternalOptions } from '../../options.ts'

const ScheduleInfo = strictObject({
  scheduleId: Type.String(),
  paused: Type.Boolean(),
  note: nullable(Type.String({ description: 'Reason for the pause or resumption' })),
  nextAt: nullable(Instant('Next start of a month end: within ten minutes of a cycle end')),
  lastAt: nullable(Instant('Last start of a month end')),
})

/** Writes the request to the audit trail before Temporal gets it. */
async function setPaused(request: FastifyRequest, { store, workflowClient }: InternalOptions, paused: boolean) {
  const { tenantId } = request
  await inTenant(onBehalfOf(store, request), tenantId, (tx) =>
    noteChange(tx, { subject: 'schedule', id: 'month-end', before: null, after: { paused } }),
  )
  if (paused) await workflowClient.pauseSchedule(tenantId, 'paused by the internal interface')
  else await workflowClient.resumeSchedule(tenantId, 'resumed by the internal interface')
  return workflowClient.describeSchedule(tenantId)
}

const route = internalRoutes('Workflows')

export const scheduleRoutes = [
  route('GET', '/schedules/month-end', {
    operationId: 'readMonthEndSchedule',
    summary: 'The Schedule of month ends',
    problems: ['not_found'],
    response: { 200: ScheduleInfo },
    handle: ({ tenantId }, { workflowClient }) => workflowClient.describeSchedule(tenantId),
  }),
  route('POST', '/schedules/month-end/pause', {
    operationId: 'pauseMonthEndSchedule',
    summary: 'Pause the Schedule of month ends',
    problems: ['not_found'],
    idempotent: false,
    response: { 200: ScheduleInfo },
    handle: (request, options) => setPaused(request, options, true),
  }),
  route('POST', '/schedules/month-end/resume', {
    operationId: 'resumeMonthEndSchedule',
    summary: 'Resume the Schedule of month ends',
    problems: ['not_found'],
    idempotent: false,
    response: { 200: ScheduleInfo },
    handle: (request, options) => setPaused(request, options, false),
  }),
]
