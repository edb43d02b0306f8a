/** Reports to the service which activities fail again and again: Temporal lists their workflows as running. */
import { ApplicationFailure, type Context, type Info } from '@temporalio/activity'
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker'
import { shorten } from '../domain/quote.ts'
import { storable } from '../domain/text.ts'
import { type EndedActivity, type FailingActivity, MOST_DETAIL } from '../domain/workflows/trouble.ts'

export interface TroubleReports {
  readonly failed: (activity: FailingActivity) => void
  /** Reports that a failing activity has ended, well or not. */
  readonly ended: (activity: EndedActivity) => void
}

/** The first failed attempt that is reported, some 3 seconds after the first. One or two failures are usual in a restart. */
const FIRST = 3
/** Later, each fifth attempt is reported: with a pause of a minute, one in five minutes. */
const EACH = 5
/**
 * So is each that takes longer together with the pause after it. Reports are at most ten minutes apart, or one attempt:
 * worker/work-lists.ts forgets an activity that is not reported for longer.
 */
const LONG_MS = 120_000
/** The longest pause of workflows/run/activities.ts. */
const USUAL_PAUSE_MS = 60_000

/** Which failed attempts are reported. @param lastedMs with the pause after it */
const isReported = (attempt: number, lastedMs: number): boolean =>
  attempt === FIRST || (attempt > FIRST && (attempt % EACH === 0 || lastedMs > LONG_MS))

/**
 * An interceptor of activities. It changes neither the result of an attempt nor its duration, and an activity that
 * succeeds at one of its first attempts costs nothing.
 *
 * @param reports take what happens, and send it later
 */
export const reportTroubles =
  (reports: TroubleReports, clock: () => number = Date.now) =>
  (context: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      execute: async (input, next) => {
        const { info } = context
        const began = clock()
        const end = () => {
          if (info.attempt > FIRST) reports.ended(placeOf(info))
        }
        try {
          const result = await next(input)
          end()
          return result
        } catch (error) {
          const at = clock()
          const nextAt = at + pauseAfter(info, error)
          if (isFinal(context, error)) end()
          else if (!context.cancellationSignal.aborted && isReported(info.attempt, nextAt - began)) {
            reports.failed(failureOf(info, error, { at, nextAt }))
          }
          throw error
        }
      },
    },
  })

const placeOf = ({ workflowExecution, activityId }: Info): EndedActivity => ({
  workflowId: workflowExecution?.workflowId ?? '',
  activityId,
})

/** Whether no attempt follows. An activity is also interrupted by the end of its worker: then another one goes on. */
const isFinal = ({ cancellationDetails, cancellationSignal }: Context, error: unknown): boolean =>
  cancellationSignal.aborted
    ? cancellationDetails?.cancelRequested === true
    : error instanceof ApplicationFailure && error.nonRetryable === true

/** The failure's own pause, else that of the retry policy. Milliseconds. */
function pauseAfter({ attempt, retryPolicy = {} }: Info, error: unknown): number {
  const own = error instanceof ApplicationFailure ? error.nextRetryDelay : undefined
  if (typeof own === 'number') return own
  const { initialInterval = 1000, maximumInterval = USUAL_PAUSE_MS, backoffCoefficient = 2 } = retryPolicy
  return Math.min(Number(maximumInterval), Number(initialInterval) * backoffCoefficient ** (attempt - 1))
}

function failureOf(
  info: Info,
  error: unknown,
  { at, nextAt }: { readonly at: number; readonly nextAt: number },
): FailingActivity {
  const { activityType: activity, attempt, scheduledTimestampMs } = info
  const code = error instanceof ApplicationFailure ? error.type : undefined
  const detail = error instanceof Error ? error.message : String(error)
  return {
    ...placeOf(info),
    activity,
    attempt,
    code: shorten(storable(code || 'internal_error'), 100),
    detail: shorten(storable(detail || 'no text'), MOST_DETAIL),
    since: instant(scheduledTimestampMs),
    failedAt: instant(at),
    nextAttemptAt: instant(nextAt),
  }
}

const instant = (at: number): string => new Date(at).toISOString()
