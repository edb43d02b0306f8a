/** The Schedule that starts a tenant's month end when a billing cycle ends. */
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy, type ScheduleSpec } from '@temporalio/client'
import { parseBillingCycle } from '../domain/cycle.ts'
import { monthEndScheduleId, monthEndTimerId, SEARCH_ATTRIBUTES, TASK_QUEUE } from '../domain/lifecycle.ts'
import type { LifecycleClient } from './temporal.ts'

export interface MonthEndSchedule {
  readonly tenantId: string
  /** `P1M` or a fixed duration, as the tenant has it. */
  readonly billingCycle: string
  /** Whether a cycle has ended unclosed before the Schedule was there: then its first run is at once. */
  readonly isLate?: boolean
}

const DAY_MS = 86_400_000
/** A downtime of a year is made up for; of short cycles as many as the server keeps waiting (1,000), less a margin. */
const CATCH_UP_MS = 400 * DAY_MS
const CATCH_UP_CYCLES = 500

/**
 * When cycles end: on the 1st at 00:00 UTC, or at multiples of the duration since 1970.
 *
 * @throws Error for what is no billing cycle
 */
export function scheduleOf(billingCycle: string): { readonly spec: ScheduleSpec; readonly catchupMs: number } {
  const length = parseBillingCycle(billingCycle)
  if (length === undefined) throw new Error(`not a billing cycle: ${billingCycle}`)
  if (length === 'month') {
    return {
      spec: { calendars: [{ dayOfMonth: 1, hour: 0, minute: 0, second: 0 }], timezone: 'UTC' },
      catchupMs: CATCH_UP_MS,
    }
  }
  return { spec: { intervals: [{ every: length }] }, catchupMs: Math.min(CATCH_UP_MS, CATCH_UP_CYCLES * length) }
}

type Call = <T>(work: (client: Client) => Promise<T>) => Promise<T>
type ScheduleCalls = Pick<LifecycleClient, 'ensureSchedule' | 'pauseSchedule' | 'resumeSchedule' | 'describeSchedule'>

export const scheduleCalls = (call: Call): ScheduleCalls => ({
  ensureSchedule: ({ tenantId, billingCycle, isLate = false }) =>
    call(async (client) => {
      const { spec, catchupMs } = scheduleOf(billingCycle)
      const input = { tenantId, billingCycle }
      try {
        await client.schedule.create({
          scheduleId: monthEndScheduleId(tenantId),
          spec,
          // One month end at a time, and none left out: missed cycles are made up in order.
          policies: { overlap: ScheduleOverlapPolicy.BUFFER_ALL, catchupWindow: catchupMs, pauseOnFailure: false },
          action: {
            type: 'startWorkflow',
            workflowType: 'month-end-timer',
            workflowId: monthEndTimerId(tenantId),
            taskQueue: TASK_QUEUE,
            args: [input],
            memo: { input },
            staticSummary: `ends of billing cycles, ${billingCycle}`,
            typedSearchAttributes: [{ key: SEARCH_ATTRIBUTES.tenant, value: tenantId }],
          },
          typedSearchAttributes: [{ key: SEARCH_ATTRIBUTES.tenant, value: tenantId }],
          state: { triggerImmediately: isLate },
        })
        return true
      } catch (error) {
        if (error instanceof ScheduleAlreadyRunning) return false
        throw error
      }
    }),

  pauseSchedule: (tenantId, note) =>
    call((client) => client.schedule.getHandle(monthEndScheduleId(tenantId)).pause(note)),

  resumeSchedule: (tenantId, note) =>
    call((client) => client.schedule.getHandle(monthEndScheduleId(tenantId)).unpause(note)),

  describeSchedule: (tenantId) =>
    call(async (client) => {
      const { scheduleId, state, info } = await client.schedule.getHandle(monthEndScheduleId(tenantId)).describe()
      return {
        scheduleId,
        paused: state.paused,
        note: state.note ?? null,
        nextAt: info.nextActionTimes[0]?.toISOString() ?? null,
        lastAt: info.recentActions.at(-1)?.scheduledAt.toISOString() ?? null,
      }
    }),
})
