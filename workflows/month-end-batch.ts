/**
 * Runs a batch of a month end: opens the tickets for its SIMs' changes, or signals the renewal to the workflows of its
 * suspended SIMs.
 *
 * Waits for no ticket: the service records their ends, and the month end counts them.
 */
import { counted } from '../domain/quantity.ts'
import type {
  MonthEndBatchInput,
  MonthEndBatchResult,
  MonthEndBatchState,
  RetryFailedResult,
} from '../domain/temporal/month-end-reprovision.ts'
import { long, short, slow, stepKey } from './run/activities.ts'
import { answerState, openTimeline, type TimelineWriter } from './run/timeline.ts'

type Counts = { -readonly [K in keyof MonthEndBatchResult]: number }

export async function monthEndBatch(input: MonthEndBatchInput): Promise<MonthEndBatchResult> {
  const { kind, count: total } = input
  const timeline = openTimeline()
  const counts: Counts = { opened: 0, refused: 0, signalled: 0 }
  answerState((): MonthEndBatchState => ({ kind, total, ...counts, ...timeline.read() }))
  if (kind === 'renew') await renew(input, counts, timeline)
  else await open(kind, input, counts, timeline)
  return counts
}

async function open(kind: 'unassign' | 'move', input: MonthEndBatchInput, counts: Counts, timeline: TimelineWriter) {
  const { tenantId, cycleKey, throughSimId } = input
  let next: number | null = input.afterSimId
  while (next !== null) {
    const afterSimId: number = next
    const ask = { tenantId, cycleKey, kind, afterSimId, throughSimId, key: stepKey(`${kind}/${afterSimId}`) }
    const page = await slow.applyChanges(ask)
    counts.opened += page.opened
    counts.refused += page.refused
    timeline.done(`${kind} SIMs ${afterSimId + 1} to ${throughSimId}`, begunText(page))
    next = page.nextAfterSimId
  }
}

async function renew(input: MonthEndBatchInput, counts: Counts, timeline: TimelineWriter): Promise<void> {
  const { tenantId, cycleKey, afterSimId, throughSimId } = input
  const { signalled, orphans } = await long.renewSuspensions(input)
  counts.signalled = signalled
  timeline.done(`renew SIMs ${afterSimId + 1} to ${throughSimId}`, `${counted(signalled, 'workflow')} told`)
  if (orphans.length === 0) return
  Object.assign(counts, await short.openReturns({ tenantId, cycleKey, simIds: orphans, key: stepKey('return') }))
  timeline.done('return SIMs without a workflow', begunText(counts))
}

export const begunText = ({ opened, refused }: RetryFailedResult): string =>
  `${counted(opened, 'ticket')} opened${refused === 0 ? '' : `, ${refused} refused`}`
