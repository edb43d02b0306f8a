/**
 * Turns one tenant's billing cycle over.
 *
 *   cycle ends ─▶ unassign ─▶ move ─▶ renew ─▶ closeAfter passes ─▶ close
 *
 * Each change is a ticket with its own result; one that fails is reported and stops no other. Pages through
 * the estate and continues as new, so memory and history stay bounded; running it twice changes nothing.
 */
import { continueAsNew, sleep, workflowInfo } from '@temporalio/workflow'
import type { TicketAsk } from '../activities/tickets.ts'
import { durationMs } from '../domain/duration.ts'
import type { MonthEndInput, MonthEndProgress, MonthEndResult } from '../domain/lifecycle.ts'
import type { PoolChange } from '../domain/month-end.ts'
import { long, short, slow, stepKey, waiting } from './calls.ts'
import { inLanes } from './lanes.ts'
import { answerState, showState } from './visibility.ts'

type Progress = { -readonly [K in keyof MonthEndProgress]: MonthEndProgress[K] }

const BEGIN: MonthEndProgress = {
  step: 'waiting',
  afterSimId: 0,
  moved: 0,
  unassigned: 0,
  changesFailed: 0,
  renewed: 0,
}

const ORDER = ['waiting', 'unassign', 'move', 'renew', 'close', 'done'] as const

export async function monthEndReprovision(input: MonthEndInput): Promise<MonthEndResult> {
  const progress: Progress = { ...(input.progress ?? BEGIN) }
  answerState(() => ({ ...progress }))

  if (progress.step === 'waiting') {
    await sleepUntil(Date.parse(input.cycleEndsAt))
    enter(progress, input)
  }
  while (progress.step === 'unassign' || progress.step === 'move') await changePage(progress.step, progress, input)
  while (progress.step === 'renew') await renewPage(progress, input)

  await sleepUntil(Date.parse(input.cycleEndsAt) + durationMs(input.closeAfter))
  const { moved, unassigned, changesFailed, renewed } = progress
  const { tenantId, cycleKey } = input
  const figures = { moved, unassigned, changesFailed, renewed }
  const statement = await slow.closeCycle({ tenantId, cycleKey, figures })
  enter(progress, input)
  return { ...progress, statement }
}

async function sleepUntil(at: number): Promise<void> {
  const left = at - Date.now()
  if (left > 0) await sleep(left)
}

/** Goes to the next step. */
function enter(progress: Progress, { cycleKey }: MonthEndInput): void {
  progress.step = ORDER[ORDER.indexOf(progress.step) + 1] ?? 'done'
  progress.afterSimId = 0
  showState(progress.step, `cycle ${cycleKey}: ${progress.step}`)
}

/** After a page: goes on behind it, in a new run where the history has grown. */
async function turn(nextAfterSimId: number | null, progress: Progress, input: MonthEndInput): Promise<void> {
  if (nextAfterSimId === null) enter(progress, input)
  else progress.afterSimId = nextAfterSimId
  if (workflowInfo().continueAsNewSuggested) {
    await continueAsNew<typeof monthEndReprovision>({ ...input, progress: { ...progress } })
  }
}

async function changePage(kind: 'unassign' | 'move', progress: Progress, input: MonthEndInput): Promise<void> {
  const { tenantId, cycleKey, pageSize, parallel, waits } = input
  const { afterSimId } = progress
  const page = await short.listChanges({ tenantId, cycleKey, kind, afterSimId, limit: pageSize })
  await inLanes(page.changes, parallel, async (change) => {
    const done = await waiting.applyChange({ tenantId, cycleKey, ticket: ticketOf(change, input), waits })
    if (!done) progress.changesFailed += 1
    else if (kind === 'move') progress.moved += 1
    else progress.unassigned += 1
  })
  await turn(page.nextAfterSimId, progress, input)
}

/** The ticket that carries a change out; it takes effect at the boundary, whenever it completes. */
function ticketOf({ simId, poolId, tariffId, unassign }: PoolChange, input: MonthEndInput): TicketAsk {
  const { tenantId, cycleKey, cycleEndsAt } = input
  const asked = { tenantId, simId, cause: { by: 'month-end', cycle: cycleKey }, effectiveAt: cycleEndsAt } as const
  if (unassign) return { ...asked, kind: 'unassign', key: stepKey(`unassign/${simId}`) }
  return {
    ...asked,
    kind: 'provision',
    key: stepKey(`move/${simId}`),
    ...(poolId === null ? {} : { poolId }),
    ...(tariffId === null ? {} : { tariffId }),
  }
}

/** Tells the workflows of suspended SIMs; one that has none any more is brought back from here. */
async function renewPage(progress: Progress, input: MonthEndInput): Promise<void> {
  const { tenantId, cycleKey, cycleEndsAt, pageSize, parallel, waits } = input
  if (progress.afterSimId === 0) await slow.renewCycle({ tenantId, cycleKey })
  const { afterSimId } = progress
  const page = await long.renewSuspensions({ tenantId, cycleKey, afterSimId, limit: pageSize })
  progress.renewed += page.signalled
  await inLanes(page.orphans, parallel, async (simId) => {
    const ticket: TicketAsk = {
      tenantId,
      simId,
      kind: 'activate',
      key: stepKey(`activate/${simId}`),
      cause: { by: 'month-end', cycle: cycleKey },
      effectiveAt: cycleEndsAt,
    }
    if (await waiting.bringBack({ tenantId, cycleKey, ticket, waits })) progress.renewed += 1
  })
  await turn(page.nextAfterSimId, progress, input)
}
