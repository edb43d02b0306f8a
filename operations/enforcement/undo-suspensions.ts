/** Undoing what one rule has suspended: the part that the service does itself. */

import type { PassOver, StartUndo, SuspensionToUndo, UndoQuery } from '../../domain/enforcement/undo.ts'
import { ServiceError } from '../../domain/errors.ts'
import { suspendOnOverageId, undoSuspensionsId } from '../../domain/temporal/ids.ts'
import type { UndoSuspensionsInput } from '../../domain/temporal/undo-suspensions.ts'
import { noteCreated } from '../../store/audit.ts'
import { suspensionsToUndo } from '../../store/enforcement/undo.ts'
import { missingSims } from '../../store/estate/sims.ts'
import { lockRuns } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { currentCycle, cycleNamed } from '../../store/usage/cycles.ts'
import type { WorkflowOptions } from '../workflows/inputs.ts'

/** Two requests a page, each of a few seconds at the most. */
const PAGE = 100
/** Some thousand events a run: two activities a page, and two for each SIM whose workflow has ended. */
const PAGES = 50

/** Input of undo-suspensions, and its id: one for each rule and span of time. */
export function undoInput(
  tx: TenantTx,
  ask: StartUndo,
  options: WorkflowOptions,
): { workflowId: string; input: UndoSuspensionsInput } {
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
      waits: options.waits,
    },
  }
}

/** A page of what a rule has suspended in a span of time, and of what it is about to suspend. */
export async function undoPage(
  tx: TenantTx,
  { rule, since, until, afterSimId = 0, limit = PAGE }: UndoQuery,
): Promise<{ suspensions: SuspensionToUndo[]; total: number; nextAfterSimId: number | null }> {
  const { key } = await currentCycle(tx)
  const span = { since: new Date(since), until: new Date(until) }
  const { suspensions, total } = await suspensionsToUndo(tx, { rule, ...span, cycleKey: key, afterSimId, limit })
  const nextAfterSimId = total > suspensions.length ? (suspensions.at(-1)?.simId ?? null) : null
  return { suspensions, total, nextAfterSimId }
}

/**
 * Has enforcement pass SIMs over until a cycle ends, else the running one: nothing starts for them, no pool picks them.
 * Safe to run twice. A run that is there already goes on; it is ended by its update `resume`.
 *
 * @throws ServiceError `sim_not_found`, `cycle_not_found`
 */
export async function passOverSims(tx: TenantTx, { simIds, cycle }: PassOver): Promise<{ passedOver: number }> {
  const ids = [...new Set(simIds)]
  const [missing] = await missingSims(tx, ids)
  if (missing !== undefined) throw new ServiceError('sim_not_found', `There is no SIM ${missing}.`)
  const { key } = cycle == null ? await currentCycle(tx) : await cycleNamed(tx, cycle)
  const runs = ids.map((simId) => suspendOnOverageId(tx.tenantId, simId, key))
  await lockRuns(tx, runs)
  await noteCreated(
    tx,
    'workflow',
    runs.map((id) => ({ id, after: { passedOver: true } })),
  )
  return { passedOver: ids.length }
}
