/** The steps of a month end: begin the work in batches, wait for its tickets, close. */

import {
  ApplicationFailure,
  allHandlersFinished,
  ChildWorkflowFailure,
  condition,
  executeChild,
  rootCause,
  workflowInfo,
} from '@temporalio/workflow'
import type { MonthEndLook } from '../../activities/month-end.ts'
import { counted } from '../../domain/quantity.ts'
import { monthEndBatchId } from '../../domain/temporal/ids.ts'
import type {
  MonthEndBatchInput,
  MonthEndBatchResult,
  MonthEndResult,
  MonthEndWork,
} from '../../domain/temporal/month-end-reprovision.ts'
import { startOf } from '../../domain/temporal/start.ts'
import { withConcurrency } from '../../domain/temporal/with-concurrency.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { begunText, type monthEndBatch } from '../month-end-batch.ts'
import { short, slow } from '../run/activities.ts'
import { enter, goOnAsNew, type MonthEndRun, note } from './run.ts'

/** Batches listed at once, per batch that may be under way. With four, batches seldom wait for the next page. */
const PAGES_AHEAD = 4
/** Least time to wait for SIMs that come back, in milliseconds: a cycle may be closed at its very end. */
const RETURN_MS = 60_000
/**
 * First and longest pause between two reads of the progress, in milliseconds. The progress shown may be that old. One
 * read counts all tickets, however many there are: cheaper than a signal for each.
 */
const LOOKS = { firstMs: 1000, longestMs: 60_000 }

/** Waits for the boundary, and enters the first step with work. */
export async function awaitBoundary(run: MonthEndRun): Promise<void> {
  const { tenantId, cycleKey, cycleEndsAt } = run.input
  if (run.endsAt > Date.now()) {
    run.timeline.waits(`the end of cycle ${cycleKey}`, 'changes take effect there', cycleEndsAt)
    await pause(run, run.endsAt)
  }
  if (run.cancel.requested) return
  const look = await short.lookAtMonthEnd({ tenantId, cycleKey })
  note(run, look)
  if (!look.closed && look.unassign.left > 0) enter(run, 'unassign')
  else if (!look.closed && look.move.left > 0) enter(run, 'move')
  else enter(run, 'renew')
}

/** Opens the tickets for one kind of change. */
export async function openChanges(run: MonthEndRun, kind: 'unassign' | 'move'): Promise<void> {
  await workOff(run, kind)
  if (run.cancel.requested) return
  enter(run, kind === 'unassign' && run.looks.move.last.left > 0 ? 'move' : 'renew')
}

/** Opens the next cycle, and starts the return of suspended SIMs. */
export async function renew(run: MonthEndRun): Promise<void> {
  const { tenantId, cycleKey } = run.input
  if (run.renewedAt === null) {
    await slow.renewCycle({ tenantId, cycleKey })
    run.renewedAt = Date.now()
    run.timeline.done('open the next cycle', 'complete')
  }
  await workOff(run, 'renew')
  if (!run.cancel.requested) enter(run, 'settle')
}

/** Works through a step in batches, by SIM id. Continues after the SIMs already begun. */
async function workOff(run: MonthEndRun, kind: MonthEndWork): Promise<void> {
  const { tenantId, cycleKey, pageSize: size, parallel } = run.input
  const limit = parallel * PAGES_AHEAD
  while (!run.cancel.requested) {
    const page = await short.listBatches({ tenantId, cycleKey, kind, afterSimId: run.afterSimId, size, limit })
    note(run, page.look)
    if (page.batches.length === 0) return
    const sum = { opened: 0, refused: 0, signalled: 0 }
    run.timeline.waits(counted(page.batches.length, 'batch', 'batches'), `their SIMs are begun: ${kind}`)
    await withConcurrency(page.batches, parallel, async (range) => {
      if (run.cancel.requested) return
      // Batches are started in order: this one and all before it have begun.
      run.afterSimId = range.throughSimId
      const { opened, refused, signalled } = await runBatch(run, { tenantId, cycleKey, kind, ...range })
      sum.opened += opened
      sum.refused += refused
      sum.signalled += signalled
    })
    run.timeline.goesOn()
    const told = kind === 'renew' ? `${counted(sum.signalled, 'workflow')} told, ` : ''
    run.timeline.done(`${kind}, up to SIM ${run.afterSimId}`, `${told}${begunText(sum)}`)
    if (page.nextAfterSimId === null) return
    await goOnAsNew(run)
  }
}

/** Runs one batch. A batch that fails does not stop the others; `broken` records it. */
async function runBatch(run: MonthEndRun, input: MonthEndBatchInput): Promise<MonthEndBatchResult> {
  const { tenantId, cycleKey, kind, afterSimId, throughSimId } = input
  run.batches += 1
  // The id names the run: a batch of a terminated run may still be running when the next run begins.
  const runName = workflowInfo().firstExecutionRunId.slice(0, 8)
  const name = `${kind}${run.renewedAgain ? '-again' : ''}:${afterSimId}`
  try {
    const options = startOf(monthEndBatchId(tenantId, cycleKey, runName, name), input)
    return await executeChild<typeof monthEndBatch>('month-end-batch', options)
  } catch (error) {
    if (!(error instanceof ChildWorkflowFailure)) throw error
    const broken = `${kind} of SIMs ${afterSimId + 1} to ${throughSimId}: ${rootCause(error) ?? error.message}`
    run.broken.push(broken)
    run.timeline.done(`batch ${name}`, broken)
    return { opened: 0, refused: 0, signalled: 0 }
  }
}

/** Waits until the tickets of the changes have ended. Then waits a limited time until suspended SIMs are back. */
export async function settle(run: MonthEndRun): Promise<void> {
  // The last counts are from before these tickets were opened again.
  if (run.retried) run.look = null
  run.retried = false
  for (let looks = 1; !isSettled(run); looks++) {
    waitForTickets(run)
    const look = await lookAfter(run, backoffMs(looks, LOOKS))
    if (look === null) return
    note(run, look)
    await goOnAsNew(run)
  }
  const { unassign, move } = run.looks
  const [done, failed] = [unassign.last.done + move.last.done, unassign.last.failed + move.last.failed]
  run.timeline.done('settle', `${counted(done, 'change')} done, ${failed} failed`)
  if (!isForgotten(run)) return enter(run, 'close')
  run.renewedAgain = true
  enter(run, 'renew')
}

/** Looks at the tickets after a pause. @returns null if it was cancelled */
async function lookAfter(run: MonthEndRun, pauseMs: number): Promise<MonthEndLook | null> {
  const { tenantId, cycleKey } = run.input
  await condition(() => run.cancel.requested, pauseMs)
  return run.cancel.requested ? null : await short.lookAtMonthEnd({ tenantId, cycleKey })
}

/**
 * Whether suspended SIMs are left because unassignments failed. Their workflows have released them for the
 * unassignment. So they have to be brought back after all.
 */
const isForgotten = ({ look, renewedAgain }: MonthEndRun): boolean =>
  look !== null && !renewedAgain && look.unassign.failed > 0 && look.suspended > 0

function isSettled(run: MonthEndRun): boolean {
  const { look, closesAt, renewedAt } = run
  if (look === null || look.open > 0) return false
  const returnsUntil = Math.max(closesAt, (renewedAt ?? Date.now()) + RETURN_MS)
  return look.renew.left === 0 || isForgotten(run) || Date.now() >= returnsUntil
}

function waitForTickets(run: MonthEndRun): void {
  const { unassign, move, renew } = run.looks
  const left = [
    ...(unassign.last.left + move.last.left === 0 ? [] : [counted(unassign.last.left + move.last.left, 'change')]),
    ...(renew.last.left === 0 ? [] : [`${counted(renew.last.left, 'SIM')} to come back`]),
  ]
  const what = left.length === 0 ? 'changes that were retried' : left.join(' and ')
  run.timeline.waits(what, 'the carrier works on their tickets')
}

/**
 * Waits until the cycle is to be closed, and closes it.
 *
 * @returns null if it is not closed yet: after a cancel, or to wait for retried changes first
 * @throws ApplicationFailure `month_end_incomplete` if a batch has failed
 */
export async function close(run: MonthEndRun): Promise<MonthEndResult | null> {
  const { tenantId, cycleKey } = run.input
  const until = new Date(run.closesAt).toISOString()
  const why = 'usage comes in late, and what failed may be retried until then'
  run.timeline.waits(`the close of cycle ${cycleKey}`, why, until)
  await pause(run, run.closesAt)
  await condition(allHandlersFinished)
  if (run.cancel.requested) return null
  if (run.retried) {
    enter(run, 'settle')
    return null
  }
  run.closing = true
  run.timeline.goesOn()
  if (run.broken.length > 0) {
    const message = `${counted(run.broken.length, 'batch', 'batches')} could not be worked off; start the month end again: ${run.broken.join('; ')}`
    throw ApplicationFailure.nonRetryable(message, 'month_end_incomplete')
  }
  const result = await slow.closeCycle({ tenantId, cycleKey })
  run.timeline.done('close', result.statement ? 'statement made' : 'nothing was in the cycle')
  return result
}

/** Waits until an instant (epoch milliseconds). A cancel or retried changes end the wait early. */
async function pause(run: MonthEndRun, until: number): Promise<void> {
  const left = until - Date.now()
  if (left > 0) await condition(() => run.cancel.requested || run.retried, left)
}
