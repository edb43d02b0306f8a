/** The Schedule that starts a tenant's month end when a billing cycle ends. */
import { isDeepStrictEqual } from 'node:util'
import {
  type CalendarSpecDescription,
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleOverlapPolicy,
} from '@temporalio/client'
import { monthEndScheduleId, monthEndTimerId } from '../../domain/temporal/ids.ts'
import { SEARCH_ATTRIBUTES, TASK_QUEUE } from '../../domain/temporal/start.ts'
import { lengthOfCycle } from '../../domain/time/cycle.ts'

export interface MonthEndSchedule {
  readonly tenantId: string
  /** `P1M` or a fixed duration, as set for the tenant. */
  readonly billingCycle: string
  /** Whether a cycle ended, and was not closed, before the Schedule existed. Then the first run starts at once. */
  readonly isLate?: boolean
}
/** The change to a tenant's Schedule: `changed` if it differed from this build's. */
export type ScheduleEnsured = 'made' | 'changed' | 'kept'

const DAY_MS = 86_400_000
/**
 * The Schedule catches up on a downtime of up to 400 days. With short cycles it is 500 cycles, because the server keeps
 * at most 1,000 waiting.
 */
const CATCH_UP_MS = 400 * DAY_MS
const CATCH_UP_CYCLES = 500
/** The month ends of all tenants begin within this time after the boundary, not in the same second. Milliseconds. */
const JITTER_MS = 600_000

const at = (value: number) => [{ start: value, end: value, step: 1 }]
/** With every field, as the server returns it. */
const FIRST_OF_MONTH: CalendarSpecDescription = {
  second: at(0),
  minute: at(0),
  hour: at(0),
  dayOfMonth: at(1),
  month: [{ start: 'JANUARY', end: 'DECEMBER', step: 1 }],
  year: [],
  dayOfWeek: [{ start: 'SUNDAY', end: 'SATURDAY', step: 1 }],
  comment: '',
}

/**
 * When cycles end: on the 1st at 00:00 UTC, or at multiples of the duration since 1970. If a cycle lasts a day or
 * longer, the start is up to {@link JITTER_MS} later, differently for each tenant.
 *
 * @throws Error if the text is no billing cycle
 */
export function scheduleOf(billingCycle: string) {
  const length = lengthOfCycle(billingCycle)
  const isMonth = length === 'month'
  return {
    spec: {
      calendars: isMonth ? [FIRST_OF_MONTH] : [],
      intervals: isMonth ? [] : [{ every: length, offset: 0 }],
      jitter: isMonth || length >= DAY_MS ? JITTER_MS : 0,
      timezone: 'UTC',
    },
    catchupMs: isMonth ? CATCH_UP_MS : Math.min(CATCH_UP_MS, CATCH_UP_CYCLES * length),
  }
}

/** A Schedule without its state: that belongs to the operator. */
function wantedSchedule({ tenantId, billingCycle }: MonthEndSchedule) {
  const { spec, catchupMs } = scheduleOf(billingCycle)
  const input = { tenantId, billingCycle }
  return {
    spec,
    // One month end at a time, and none left out: missed cycles are caught up on in order.
    policies: { overlap: ScheduleOverlapPolicy.BUFFER_ALL, catchupWindow: catchupMs, pauseOnFailure: false },
    action: {
      type: 'startWorkflow',
      workflowType: 'month-end-timer',
      workflowId: monthEndTimerId(tenantId),
      taskQueue: TASK_QUEUE,
      args: [input],
      memo: { input },
      staticSummary: `ends of billing cycles, ${billingCycle}`,
    },
  } as const
}
type WantedSchedule = ReturnType<typeof wantedSchedule>

/** Whether a Schedule is the one that this build makes. */
function isAsWanted({ spec, policies, action }: ScheduleDescription, wanted: WantedSchedule): boolean {
  const { workflowType, workflowId, taskQueue, args, memo, staticSummary } = action
  const { calendars = [], intervals = [], skip = [], jitter = 0, timezone, startAt, endAt } = spec
  const isElsewhere = skip.length > 0 || startAt !== undefined || endAt !== undefined
  const found = {
    spec: { calendars, intervals, jitter, timezone },
    policies,
    action: { type: 'startWorkflow', workflowType, workflowId, taskQueue, args, memo, staticSummary },
  }
  return !isElsewhere && isDeepStrictEqual(found, wanted)
}

async function keepAsWanted(handle: ScheduleHandle, wanted: WantedSchedule, tenantId: string) {
  const found = await handle.describe()
  if (isAsWanted(found, wanted)) return 'kept' as const
  // Keeps whether it is paused, and why.
  await handle.update(({ state }) => ({ ...wanted, action: actionOf(wanted, tenantId), state }))
  return 'changed' as const
}

const attributesOf = (tenantId: string) => [{ key: SEARCH_ATTRIBUTES.tenant, value: tenantId }]
const actionOf = ({ action }: WantedSchedule, tenantId: string) => ({
  ...action,
  args: [...action.args],
  typedSearchAttributes: attributesOf(tenantId),
})

type Call = <T>(work: (client: Client) => Promise<T>) => Promise<T>

export interface ScheduleCalls {
  /** Makes a tenant's month-end Schedule if it is missing. Updates one that an earlier version made. */
  ensureSchedule(schedule: MonthEndSchedule): Promise<ScheduleEnsured>
  /** @throws ServiceError `not_found` if the tenant has no Schedule */
  pauseSchedule(tenantId: string, note: string): Promise<void>
  resumeSchedule(tenantId: string, note: string): Promise<void>
  describeSchedule(tenantId: string): Promise<ScheduleState>
}

export interface ScheduleState {
  readonly scheduleId: string
  readonly paused: boolean
  readonly note: string | null
  readonly nextAt: string | null
  readonly lastAt: string | null
}

export const scheduleCalls = (call: Call): ScheduleCalls => ({
  ensureSchedule: (schedule) =>
    call(async (client) => {
      const { tenantId, isLate = false } = schedule
      const scheduleId = monthEndScheduleId(tenantId)
      const wanted = wantedSchedule(schedule)
      try {
        await client.schedule.create({
          scheduleId,
          ...wanted,
          action: actionOf(wanted, tenantId),
          typedSearchAttributes: attributesOf(tenantId),
          state: { triggerImmediately: isLate },
        })
        return 'made'
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error
        return await keepAsWanted(client.schedule.getHandle(scheduleId), wanted, tenantId)
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
