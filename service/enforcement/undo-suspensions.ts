/** Undoes the suspensions of one rule: the part that the service does, not the workflow. */

import type { PassOver, StartUndo, SuspensionToUndo, UndoQuery } from '../../domain/enforcement/undo.ts'
import { ServiceError } from '../../domain/errors.ts'
import { suspendOnOverageId, undoSuspensionsId } from '../../domain/temporal/ids.ts'
import type { UndoSuspensionsInput } from '../../domain/temporal/undo-suspensions.ts'
import { noteCreated } from '../../store/audit.ts'
import { passOverRuns } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { missingSims } from '../sims/rows/sims.ts'
import { currentCycle, cycleNamed, runningCycle } from '../usage/rows/cycles.ts'
import { suspensionsToUndo } from './rows/undo.ts'

/** Suspensions in a page. A page takes two requests, of a few seconds each at most. */
const PAGE = 100
/** Pages in a run: some thousand history events, two activities a page and two for each SIM of an ended workflow. */
const PAGES = 50

/**
 * The input of undo-suspensions, and its workflow id: one for each rule and time span.
 *
 * @throws ServiceError `invalid_request` if `since` is not before `until`; without `until`, if it is not before now
 */
export function undoInput(tx: TenantTx, ask: StartUndo): { workflowId: string; input: UndoSuspensionsInput } {
  const [since, until] = [new Date(ask.since), ask.until == null ? null : new Date(ask.until)]
  if (since >= (until ?? tx.now)) {
    const detail = `must be before ${until === null ? 'now' : 'until'}`
    throw new ServiceError('invalid_request', `since ${detail}`, { errors: [{ pointer: '/since', detail }] })
  }
  const span = until === null ? `${since.getTime()}` : `${since.getTime()}-${until.getTime()}`
  return {
    workflowId: undoSuspensionsId(tx.tenantId, ask.rule, span),
    input: {
      tenantId: tx.tenantId,
      rule: ask.rule,
      since: since.toISOString(),
      until: (until ?? tx.now).toISOString(),
      pageSize: PAGE,
      perRun: PAGES,
    },
  }
}

/**
 * A page of the SIMs that a rule has suspended in a time span, and of those it is about to suspend.
 *
 * @returns in order of SIM id; `total` counts those after `afterSimId`; `nextAfterSimId` is null on the last page
 */
export async function undoPage(
  tx: TenantTx,
  { rule, since, until, afterSimId = 0, limit = PAGE }: UndoQuery,
): Promise<{ suspensions: SuspensionToUndo[]; total: number; nextAfterSimId: number | null }> {
  const { key } = await runningCycle(tx)
  const span = { since: new Date(since), until: until === undefined ? tx.now : new Date(until) }
  const { found, total } = await suspensionsToUndo(tx, { rule, ...span, cycleKey: key, afterSimId, limit })
  const suspensions = found.map(({ simId, workflowId, suspended }) => ({
    simId,
    workflowId: workflowId ?? suspendOnOverageId(tx.tenantId, simId, key),
    suspended,
  }))
  const nextAfterSimId = total > found.length ? (found.at(-1)?.simId ?? null) : null
  return { suspensions, total, nextAfterSimId }
}

/**
 * Makes enforcement pass SIMs over until a cycle ends; without `cycle`, the running one. No run starts for them, and no
 * pool picks them. A run that exists already goes on: its update `resume` ends it. Safe to run twice.
 *
 * @throws ServiceError `sim_not_found`, `cycle_not_found`
 */
export async function passOverSims(tx: TenantTx, { simIds, cycle }: PassOver): Promise<{ passedOver: number }> {
  const ids = [...new Set(simIds)]
  const [missing] = await missingSims(tx, ids)
  if (missing !== undefined) throw new ServiceError('sim_not_found', `There is no SIM ${missing}.`)
  const { key } = cycle == null ? await currentCycle(tx) : await cycleNamed(tx, cycle)
  const runs = ids.map((simId) => suspendOnOverageId(tx.tenantId, simId, key))
  await passOverRuns(tx, runs)
  await noteCreated(
    tx,
    'workflow',
    runs.map((id) => ({ id, after: { passedOver: true } })),
  )
  return { passedOver: ids.length }
}
