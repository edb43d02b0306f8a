/**
 * Works through bulk runs. Their tickets are opened in batches, each in one transaction.
 *
 * The runs of a tenant go one after another, in the order they were accepted. So a SIM's tickets from two runs are in
 * that order too.
 *
 * Safe to run twice and concurrently. The run's row lock orders the batches. An item stops waiting in the transaction
 * that opens its ticket. If a worker dies, a sweep finds its run in the work list.
 */
import { randomUUID } from 'node:crypto'
import type { Job } from '../../domain/jobs.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { lockSims } from '../sims/rows/sim-state.ts'
import { askOf, refusalsOf } from './bulk-targets.ts'
import { endTickets } from './end-tickets.ts'
import { type LockedRun, lockNextRun, type SettledItem, settleBatch, takePending, waitingItems } from './rows/bulk.ts'
import { insertTickets } from './rows/tickets.ts'

/** SIMs in a transaction. It locks them for about a tenth of a second, and their own tickets wait that long. */
export const BATCH = 500
/** Batches in a job. After it, the runs of other tenants have their turn. */
const BATCHES_A_JOB = 20
/** Longer than a batch takes. */
const LEASE_MS = 10_000

/** When a sweep picks up the run if its worker dies. */
const dueAfter = ({ now }: TenantTx): Date => new Date(now.getTime() + LEASE_MS)

/**
 * Works through a limited number of batches of a tenant's runs. If more is left, enqueues a job for it.
 *
 * @param add enqueues jobs and waits until they are accepted, so that they never pile up here
 */
export async function openBulkTickets(
  store: Store,
  add: (jobs: readonly Job[]) => Promise<void>,
  tenantId: string,
): Promise<void> {
  const jobs: Job[] = []
  const collecting = { ...store, enqueue: (enqueued: readonly Job[]) => void jobs.push(...enqueued) }
  for (let batch = 0; batch < BATCHES_A_JOB; batch++) {
    const worked = await inTenant(collecting, tenantId, workOffBatch)
    await add(jobs.splice(0))
    if (!worked) return
  }
  await add([{ queue: 'bulk', tenantId }])
}

/** @returns whether there was something to do */
async function workOffBatch(tx: TenantTx): Promise<boolean> {
  const run = await lockNextRun(tx)
  if (run === undefined) return false
  if (run.state === 'cancelling') await cancelBatch(tx, run.id)
  else await openBatch(tx, run)
  return true
}

/** Cancels the next Pending tickets of a run, at most `BATCH`. Call with the run locked. */
export async function cancelBatch(tx: TenantTx, bulkId: string): Promise<void> {
  const pending = await takePending(tx, bulkId, BATCH, dueAfter(tx))
  const cancelled = pending.map((ticket) => ({ ticket, failure: null, isCancelled: true as const }))
  await endTickets(tx, cancelled)
}

async function openBatch(tx: TenantTx, run: LockedRun): Promise<void> {
  const items = await waitingItems(tx, run.id, BATCH)
  const simIds = items.map(({ simId }) => simId)
  await lockSims(tx, simIds)
  const refusals = await refusalsOf(tx, run, simIds)
  const opened = simIds.filter((simId) => !refusals.has(simId)).map((simId) => ({ id: randomUUID(), simId }))
  const { id, tag, message } = run
  await insertTickets(tx, opened, { ...askOf(run), tag, message, effectiveAt: null, bulkId: id })
  const settled = items.map(({ index, simId }): SettledItem => {
    const refusal = refusals.get(simId)
    return refusal === undefined ? { index, outcome: 'opened' } : { index, outcome: 'refused', ...refusal }
  })
  await settleBatch(tx, id, settled, dueAfter(tx))
}
