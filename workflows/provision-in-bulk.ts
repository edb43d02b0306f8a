/**
 * Takes the SIMs of a batch from Unprovisioned to Active, each by its own provision-and-activate.
 *
 *   list, page by page ──▶ at most `parallel` SIMs under way ──▶ outcomes written back ──▶ counts, first failures
 *
 * It keeps a window of SIMs under way: as soon as one ends, the next begins. So a stuck SIM delays no others.
 *
 * Continues as new after `perRun` starts. Before that it waits a moment for SIMs under way; the next run waits for the
 * rest. On a cancel it begins nothing more, and cancels the runs under way; they undo their own part.
 */

import { condition, continueAsNew, sleep, workflowInfo } from '@temporalio/workflow'
import type { BatchItem, SimEnd } from '../activities/provision-batches.ts'
import { counted } from '../domain/quantity.ts'
import { failedEnd } from '../domain/temporal/provision-and-activate.ts'
import type {
  BatchCounts,
  ProvisionInBulkInput,
  ProvisionInBulkResult,
  ProvisionInBulkState,
} from '../domain/temporal/provision-in-bulk.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import { type BatchOptions, type UnderWay, untilEnd } from './provision-in-bulk/batch-sims.ts'
import { openLookout } from './provision-in-bulk/lookout.ts'
import { failureOf, long, short } from './run/activities.ts'
import { endCancelled, heedingCancel } from './run/cancellation.ts'
import { openRate, type Rate, type RateMark } from './run/rate.ts'
import { answerState, openTimeline, showState, type TimelineWriter } from './run/timeline.ts'

/** Outcomes are written back this often (milliseconds), or once there are so many: counts lag by that. */
const NOTE_EVERY_MS = 2000
const NOTE_MANY = 100
/** How long to wait for SIMs under way before continuing as new, in milliseconds. Most take a second or two. */
const DRAIN_MS = 5000

type EndCounts = Record<SimEnd['outcome'], number>

/** The state passed on to a continued run. */
interface BulkCarryOver extends Timeline {
  readonly total: number
  readonly ended: EndCounts
  /** Index of the last SIM begun. */
  readonly afterIndex: number | null
  readonly underWay: readonly Pick<UnderWay, 'item' | 'runId'>[]
  readonly pace: readonly RateMark[]
}

interface Batch extends BatchOptions {
  readonly timeline: TimelineWriter
  readonly rate: Rate
  readonly ended: EndCounts
  readonly underWay: Set<UnderWay>
  /** Starts and ends not written back yet. */
  readonly notes: { started: number[]; ended: (SimEnd & { readonly index: number })[]; due: boolean; timed: boolean }
  total: number
  afterIndex: number | null
  /** SIMs read from the list and not begun. */
  page: BatchItem[]
  /** Whether the list goes on after the page. */
  more: boolean
  begun: number
}

/** @param carried state of the run that this one continues; absent in the first run */
export async function provisionInBulk(
  input: ProvisionInBulkInput,
  carried?: BulkCarryOver,
): Promise<ProvisionInBulkResult> {
  const result = await heedingCancel(async (cancel) => {
    const cancelled = condition(() => cancel.requested)
    const lookout = openLookout(input.tenantId)
    const batch = openBatch({ input, cancel, cancelled, lookout }, carried)
    answerState((): ProvisionInBulkState => ({ ...figuresOf(batch), ...batch.timeline.read() }))
    if (carried === undefined) await readCounts(batch)
    for (const { item, runId } of carried?.underWay ?? []) launch(batch, { item, runId, starting: false })
    await work(batch)
    return await end(batch)
  })
  showState(result.outcome)
  if (result.outcome === 'cancelled') endCancelled(result, 'cancelled; what was under way was cancelled too')
  return result
}

const openBatch = (options: BatchOptions, carried?: BulkCarryOver): Batch => ({
  ...options,
  timeline: openTimeline(carried),
  rate: openRate(carried?.pace),
  ended: { activated: 0, alreadyActive: 0, compensated: 0, cancelled: 0, failed: 0, ...carried?.ended },
  underWay: new Set(),
  notes: { started: [], ended: [], due: false, timed: false },
  total: carried?.total ?? 0,
  afterIndex: carried?.afterIndex ?? null,
  page: [],
  more: true,
  begun: 0,
})

/** Reads the counts, in the first run. A restarted batch continues after its last SIM. */
async function readCounts(batch: Batch): Promise<void> {
  const { tenantId, batchId } = batch.input
  const { total, counts } = await short.readBatch({ tenantId, batchId })
  const { refused, waiting: _, running: __, ...ended } = counts
  batch.total = total - refused
  Object.assign(batch.ended, ended)
  batch.rate.mark(endedOf(batch))
  showState('running')
}

const endedOf = ({ ended }: Batch): number => Object.values(ended).reduce((sum, count) => sum + count, 0)

function figuresOf(batch: Batch) {
  const left = batch.total - endedOf(batch)
  const running = batch.underWay.size
  const counts: BatchCounts = { waiting: left - running, running, ...batch.ended }
  return {
    total: batch.total,
    counts,
    left,
    ratePerSecond: batch.rate.perSecond(),
    estimatedEndAt: batch.rate.endOf(left),
  }
}

/** Works through the list until it is empty or the batch is cancelled. Then waits until nothing is under way. */
async function work(batch: Batch): Promise<void> {
  const { cancel, input, underWay, notes, lookout } = batch
  const isMore = () => !cancel.requested && (batch.more || batch.page.length > 0)
  const mayBegin = () => isMore() && underWay.size < input.parallel
  const isDone = () => !isMore() && underWay.size === 0
  const isLong = () => lookout.isWatching() && workflowInfo().continueAsNewSuggested && !cancel.requested
  while (!isDone()) {
    if (notes.due) await writeBack(batch)
    else if (isLong() || (mayBegin() && isFull(batch))) await turn(batch)
    else if (mayBegin()) await beginNext(batch)
    else await condition(() => notes.due || mayBegin() || isDone() || isLong())
  }
  await writeBack(batch)
}

/** Whether this run's history has reached its planned length. */
const isFull = ({ begun, input }: Batch): boolean => begun >= input.perRun || workflowInfo().continueAsNewSuggested

async function beginNext(batch: Batch): Promise<void> {
  const { tenantId, batchId, pageSize } = batch.input
  const item = batch.page.shift()
  if (item !== undefined) {
    batch.afterIndex = item.index
    batch.begun += 1
    batch.notes.started.push(item.index)
    launch(batch, { item, runId: null, starting: false })
    return
  }
  const { afterIndex } = batch
  const { sims, nextAfterIndex } = await short.pageOfBatch({ tenantId, batchId, afterIndex, limit: pageSize })
  batch.page = [...sims]
  batch.more = nextAfterIndex !== null
}

function launch(batch: Batch, way: UnderWay): void {
  const { underWay, ended, notes, timeline } = batch
  underWay.add(way)
  const ending = untilEnd(way, batch).catch((error: unknown): SimEnd => {
    const { code, detail } = failureOf(error)
    return failedEnd(code, detail)
  })
  void ending.then((end) => {
    underWay.delete(way)
    ended[end.outcome] += 1
    notes.ended.push({ ...end, index: way.item.index })
    const { failure } = end
    if (failure !== null) {
      const why = `${end.outcome}: ${failure.step} failed, ${failure.code}: ${failure.detail}`
      timeline.done(`SIM ${way.item.simId}`, why, failure.ticketId)
    }
    setNotesDue(batch)
  })
  setNotesDue(batch)
}

/** Schedules the write of outcomes: soon, or at once if there are many. */
function setNotesDue({ notes }: Batch): void {
  if (notes.started.length + notes.ended.length >= NOTE_MANY) notes.due = true
  if (notes.timed) return
  notes.timed = true
  void sleep(NOTE_EVERY_MS).then(() => {
    notes.timed = false
    notes.due = true
  })
}

async function writeBack(batch: Batch): Promise<void> {
  const { input, notes, rate, timeline } = batch
  const { tenantId, batchId, parallel } = input
  const [started, ended] = [notes.started, notes.ended]
  notes.started = []
  notes.ended = []
  notes.due = false
  if (started.length + ended.length > 0) await long.noteBatch({ tenantId, batchId, started, ended })
  rate.mark(endedOf(batch))
  const { counts, estimatedEndAt } = figuresOf(batch)
  const why = `at most ${parallel} at once; ${counts.waiting} to begin`
  timeline.waits(`${counted(counts.running, 'SIM')} under way`, why, estimatedEndAt)
}

/** Continues as new. SIMs that have not ended within `DRAIN_MS` are carried over. */
async function turn(batch: Batch): Promise<void> {
  const { input, underWay, cancel, timeline, ended, total, afterIndex, rate, notes } = batch
  await condition(() => underWay.size === 0 || cancel.requested, DRAIN_MS)
  const isStarting = () => [...underWay].some(({ starting }) => starting)
  // Repeat for SIMs that end or begin during the write: notes and unfinished starts cannot be carried over.
  do {
    await condition(() => !isStarting())
    await writeBack(batch)
  } while (notes.started.length + notes.ended.length > 0 || isStarting())
  if (cancel.requested) return
  timeline.done(`list up to ${afterIndex ?? 0}`, `begun; ${counted(underWay.size, 'SIM')} under way carried over`)
  const carried = { total, ended: { ...ended }, afterIndex, pace: rate.read(), ...timeline.read() }
  await continueAsNew<typeof provisionInBulk>(input, {
    ...carried,
    underWay: [...underWay].map(({ item, runId }) => ({ item, runId })),
  })
}

async function end(batch: Batch): Promise<ProvisionInBulkResult> {
  const { input, cancel, timeline } = batch
  const { tenantId, batchId } = input
  timeline.goesOn()
  const closed = await short.endBatch({ tenantId, batchId })
  const { waiting: _, running: __, ...ended } = closed.counts
  Object.assign(batch.ended, ended)
  const active = ended.activated + ended.alreadyActive
  const failed = closed.total - active - ended.cancelled
  timeline.done('end', `${active} of ${counted(closed.total, 'SIM')} active`)
  return { outcome: cancel.requested ? 'cancelled' : failed > 0 ? 'doneWithFailures' : 'done', ...closed }
}
