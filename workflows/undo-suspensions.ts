/**
 * Brings back the SIMs that one rule has suspended since an instant. The watchdog passes them over for the cycle.
 *
 *   page by page, by SIM id:  mark ─▶ ask each SIM's workflow to resume ─▶ a ticket where none runs any more
 *
 * SIMs suspended by a person stay suspended. A second run has no effect. Continues as new to bound memory and history.
 */

import { continueAsNew, workflowInfo } from '@temporalio/workflow'
import { counted } from '../domain/quantity.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import type {
  UndoSuspensionsInput,
  UndoSuspensionsResult,
  UndoSuspensionsState,
} from '../domain/temporal/undo-suspensions.ts'
import { withConcurrency } from '../domain/temporal/with-concurrency.ts'
import { failureOf, long, short, stepKey } from './run/activities.ts'
import { type Cancel, endCancelled, heedingCancel } from './run/cancellation.ts'
import { openRate, type Rate, type RateMark } from './run/rate.ts'
import { endOfTicket, heedTicketEnds, type TicketEnds } from './run/tickets.ts'
import { answerState, openTimeline, showState, type TimelineWriter } from './run/timeline.ts'

type Failure = UndoSuspensionsResult['failures'][number]

interface Progress {
  found: number
  done: number
  failed: number
  failures: Failure[]
  /** SIMs up to this id are done; null once there are no more. */
  afterSimId: number | null
  pages: number
}

/** The state passed on to a continued run. */
interface CarriedState {
  readonly progress: Readonly<Progress>
  readonly view: Timeline
  readonly pace: readonly RateMark[]
}

const MOST_FAILURES = 100
/** Tickets under way at once. Few SIMs need one: workflows normally run until the renewal. */
const CONCURRENCY = 10

/** @param carried state of the run that this one continues; absent in the first run */
export async function undoSuspensions(
  input: UndoSuspensionsInput,
  carried?: CarriedState,
): Promise<UndoSuspensionsResult> {
  const progress: Progress = {
    ...(carried?.progress ?? { found: 0, done: 0, failed: 0, afterSimId: 0, pages: 0 }),
    failures: [...(carried?.progress.failures ?? [])],
  }
  const timeline = openTimeline(carried?.view)
  const ends = heedTicketEnds()
  const rate = openRate(carried?.pace)
  if (carried === undefined) rate.mark(0)
  answerState((): UndoSuspensionsState => {
    const { found, done, failed, failures, afterSimId } = progress
    const left = Math.max(0, found - done - failed)
    const figures = { found, done, failed, left, ratePerSecond: rate.perSecond(), estimatedEndAt: rate.endOf(left) }
    return { ...figures, failures: [...failures], afterSimId: afterSimId ?? 0, ...timeline.read() }
  })
  if (carried === undefined) showState('running')
  const cancelled = await heedingCancel((cancel) => work(input, { progress, timeline, ends, rate, cancel }))
  timeline.goesOn()
  const { found, done, failed, failures } = progress
  const outcome = cancelled ? 'cancelled' : failed > 0 ? 'doneWithFailures' : 'done'
  showState(outcome)
  const result = { outcome, found, done, failed, failures } as const
  if (cancelled) endCancelled(result, 'cancelled; what is not behind it stays suspended')
  return result
}

interface Run {
  readonly progress: Progress
  readonly timeline: TimelineWriter
  readonly ends: TicketEnds
  readonly rate: Rate
  readonly cancel: Cancel
}

/** @returns whether a cancel has ended it early */
async function work(input: UndoSuspensionsInput, run: Run): Promise<boolean> {
  const { progress, timeline, rate, cancel } = run
  while (progress.afterSimId !== null) {
    if (cancel.requested) return true
    await undoPage(input, run, progress.afterSimId)
    rate.mark(progress.done + progress.failed)
    const full = progress.pages % input.perRun === 0 || workflowInfo().continueAsNewSuggested
    if (full && progress.afterSimId !== null && !cancel.requested) {
      await continueAsNew<typeof undoSuspensions>(input, { progress, view: timeline.read(), pace: rate.read() })
    }
  }
  return false
}

async function undoPage(input: UndoSuspensionsInput, run: Run, afterSimId: number): Promise<void> {
  const { tenantId, rule, since, until, pageSize } = input
  const { progress, timeline } = run
  progress.pages += 1
  const step = `page/${progress.pages}`
  timeline.waits('the service', `it looks for what rule ${rule} has suspended`)
  const ask = { tenantId, rule, since, until, afterSimId, limit: pageSize }
  const { suspensions, total, nextAfterSimId } = await short.takeUndoPage(ask)
  progress.found = Math.max(progress.found, progress.done + progress.failed + total)
  timeline.waits(`the workflows of ${counted(suspensions.length, 'SIM')}`, 'they are asked to bring them back')
  const { orphans, failures } =
    suspensions.length === 0
      ? { orphans: [], failures: [] }
      : await long.resumeSims({ tenantId, suspensions, key: stepKey(step) })
  const failed = [...failures]
  timeline.waits(counted(orphans.length, 'ticket'), 'no workflow runs that would bring these SIMs back')
  await withConcurrency(orphans, CONCURRENCY, async (simId) => {
    const failure = await activate(tenantId, simId, run)
    if (failure !== null) failed.push({ simId, ...failure })
  })
  progress.failed += failed.length
  progress.done += suspensions.length - failed.length
  const room = MOST_FAILURES - progress.failures.length
  progress.failures.push(...failed.toSorted((a, b) => a.simId - b.simId).slice(0, Math.max(0, room)))
  progress.afterSimId = nextAfterSimId
  timeline.goesOn()
  const words = `${counted(suspensions.length, 'SIM')}: ${suspensions.length - failed.length} come back, ${failed.length} failed`
  timeline.done(step, words)
}

/** Brings one SIM back by a ticket. @returns why not; null if it is back */
async function activate(tenantId: string, simId: number, run: Run): Promise<Omit<Failure, 'simId'> | null> {
  const { timeline, ends, cancel } = run
  const { workflowId } = workflowInfo()
  const step = `activate/${simId}`
  const cause = { by: 'workflow', workflowId } as const
  try {
    const { ticketId } = await short.openTicket({ tenantId, simId, kind: 'activate', key: stepKey(step), cause })
    if (ticketId === null) return null
    const { status, code, detail } = await endOfTicket(ends, { tenantId, ticketId }, () => cancel.requested)
    timeline.done(step, status === 'complete' ? 'complete' : `${code}: ${detail}`, ticketId)
    return status === 'complete' ? null : { code, detail }
  } catch (error) {
    return failureOf(error)
  }
}
