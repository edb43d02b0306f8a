import { ServiceError } from '../../domain/errors.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { type ArmedQuery, type ArmedSims, type ArmRequest, MOST_ARMED } from '../../domain/workflows/workflow.ts'
import { noteCreated } from '../../store/audit.ts'
import { knownStarts, rememberStarts, requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { knownPool } from '../pools/rows/pools.ts'
import { armsAfter, keepArms } from '../sims/rows/pool-arms.ts'
import { missingSims } from '../sims/rows/sims.ts'
import { cycleNamed } from '../usage/rows/cycles.ts'
import { suspendInputOf } from './start-suspension.ts'

/**
 * Signals the suspend-on-overage runs of SIMs for the enforcement of their pool, after the commit. Only `overLimit`
 * starts a run, once per SIM and cycle. An ended run gets no signal.
 *
 * Safe to run twice: a repeated signal changes nothing.
 *
 * @param ask.poolId the pool that stops them; kept for SIMs that get `overLimit`: a later run of the pool finds them
 * @returns how many runs are signalled, how many of those are started, and how many SIMs the pool had not armed before
 * @throws ServiceError `sim_not_found`, `pool_not_found`, `cycle_not_found`; `sim_state_conflict` for `overLimit` in an
 *   ended cycle
 */
export async function armSims(
  tx: TenantTx,
  ask: ArmRequest,
): Promise<{ told: number; started: number; armed: number }> {
  const { poolId, rule, ruleFile, grace, until, signal } = ask
  const cycle = await cycleNamed(tx, ask.cycle)
  if (signal === 'overLimit' && tx.now.getTime() >= cycle.endsAt)
    throw new ServiceError('sim_state_conflict', `Cycle ${cycle.key} has ended, so nothing is enforced in it.`)
  const simIds = [...new Set(ask.simIds)]
  const [missing] = await missingSims(tx, simIds)
  if (missing !== undefined) throw new ServiceError('sim_not_found', `There is no SIM ${missing}.`)
  if (poolId != null) await knownPool(tx, poolId)
  const armed = poolId != null && signal === 'overLimit' ? await keepArms(tx, { poolId, cycle: cycle.key }, simIds) : 0
  const runs = simIds.map((simId) => ({ simId, workflowId: suspendOnOverageId(tx.tenantId, simId, cycle.key) }))
  const ids = runs.map(({ workflowId }) => workflowId)
  const first = signal === 'overLimit' ? await rememberStarts(tx, ids) : new Set<string>()
  const known = signal === 'overLimit' ? new Set(ids) : await knownStarts(tx, ids)
  const signalled = runs.filter(({ workflowId }) => known.has(workflowId))
  await requestWorkflows(
    tx,
    signalled.map(({ simId, workflowId }) =>
      first.has(workflowId)
        ? {
            do: 'signalWithStart' as const,
            type: 'suspend-on-overage' as const,
            workflowId,
            input: suspendInputOf(tx.tenantId, cycle, { simId, rule, ruleFile, grace, until }),
            signal,
          }
        : { do: 'signal' as const, workflowId, signal },
    ),
  )
  await noteCreated(
    tx,
    'workflow',
    signalled.map(({ workflowId }) => ({ id: workflowId, after: { signal } })),
  )
  return { told: signalled.length, started: first.size, armed }
}

/** A page of the SIMs that a pool has armed in a cycle. @throws ServiceError `pool_not_found`, `cycle_not_found` */
export async function armedSims(
  tx: TenantTx,
  poolId: number,
  { cycle, afterSimId = 0, limit = MOST_ARMED }: ArmedQuery,
): Promise<ArmedSims> {
  await knownPool(tx, poolId)
  await cycleNamed(tx, cycle)
  const simIds = await armsAfter(tx, { poolId, cycle }, { afterSimId, limit })
  return { simIds, nextAfterSimId: simIds.length === limit ? (simIds.at(-1) ?? null) : null }
}
