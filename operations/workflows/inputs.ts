/** Checks and inputs for starting workflows. Settings and the time come in here, because workflows read neither. */
import { SimStatus } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { MonthEndInput } from '../../domain/temporal/month-end-reprovision.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import type { ProvisionAndActivateInput } from '../../domain/temporal/provision-and-activate.ts'
import type { ProvisionInBulkInput } from '../../domain/temporal/provision-in-bulk.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import type { SimState } from '../../domain/tickets/decisions.ts'
import { type Cycle, cycleAt, parseBillingCycle, previousCycle } from '../../domain/time/cycle.ts'
import type { StartMonthEnd, StartProvision, StartSuspend } from '../../domain/workflows/workflow.ts'
import { noteChange } from '../../store/audit.ts'
import { readEnforcedSim } from '../../store/enforcement/candidates.ts'
import { lockSim } from '../../store/estate/sim-state.ts'
import { findSimId } from '../../store/estate/sims.ts'
import {
  forgetRefusal,
  type RememberedStart,
  rememberedStart,
  rememberStarts,
  requestOwnStart,
  requestWorkflows,
} from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { currentCycle, cycleNamed, endedCycle, tenantSettings } from '../../store/usage/cycles.ts'
import { type Conflict, checkAssignment } from '../tickets/open-ticket.ts'

/** Settings that go into the inputs of workflows. */
export interface WorkflowOptions {
  /** ISO 8601 duration from a cycle's end to its close. Shorter cycles than a day are closed without it. */
  readonly closeAfter: string
  /** How a month end is divided. Default: 500 SIMs a batch, 8 batches at once, 100 batches a run. */
  readonly batches?: Pick<MonthEndInput, 'pageSize' | 'parallel' | 'perRun'>
  /** How a batch of SIMs is divided. Default: 100 SIMs are read at a time, and 200 begun in a run. */
  readonly provisioning?: Pick<ProvisionInBulkInput, 'pageSize' | 'perRun'>
}

/** Each batch is a transaction. With more in parallel they only wait for each other. A run has about 1,000 events. */
const BATCHES = { pageSize: 500, parallel: 8, perRun: 100 } as const
const DAY_MS = 86_400_000

/**
 * The id of the SIM that a request names, by id or by ICCID.
 *
 * @throws ServiceError `invalid_request` if the request gives neither or both, `sim_not_found`
 */
export async function simNamed(tx: TenantTx, ask: StartProvision): Promise<number> {
  const { simId, iccid } = ask
  if ((simId == null) === (iccid == null)) {
    throw new ServiceError('invalid_request', 'Give either simId or iccid.', {
      errors: [{ pointer: '/simId', detail: 'give either simId or iccid' }],
    })
  }
  const id = await findSimId(tx, simId == null ? { by: 'iccid', iccid: iccid ?? '' } : { by: 'id', id: simId })
  if (id === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId ?? iccid}.`)
  return id
}

/**
 * The input of provision-and-activate. Accepts an Unprovisioned SIM. Also accepts a SIM not activated since its
 * provision ticket, or an Active one, if it has the requested pool and tariff.
 *
 * @throws ServiceError `sim_not_found`, `sim_already_assigned`, `sim_state_conflict`, `pool_not_found`,
 *   `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`, `tariff_has_no_effect`
 */
export async function provisionInput(
  tx: TenantTx,
  simId: number,
  ask: StartProvision,
): Promise<ProvisionAndActivateInput> {
  const sim = await lockSim(tx, simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  const asked = { poolId: ask.poolId ?? null, tariffId: ask.tariffId ?? null }
  const conflict = activationConflict(sim, asked)
  if (conflict !== undefined) throw new ServiceError(conflict.code, conflict.detail)
  if (sim.status === SimStatus.Unprovisioned) await checkAssignment(tx, asked, asked.tariffId)
  return {
    tenantId: tx.tenantId,
    simId,
    ...(ask.poolId == null ? {} : { poolId: ask.poolId }),
    ...(ask.tariffId == null ? {} : { tariffId: ask.tariffId }),
    ...(ask.tag == null ? {} : { tag: ask.tag }),
  }
}

/**
 * Why a SIM cannot be made Active in a pool and tariff; undefined if it can. A provisioned SIM must be there already,
 * and nobody may have suspended it. Does not check the pool and the tariff themselves. Pure.
 */
export function activationConflict(
  sim: SimState & { readonly simId: number },
  asked: Pick<SimState, 'poolId' | 'tariffId'>,
): Conflict | undefined {
  if (sim.status === SimStatus.Unprovisioned) return undefined
  if (sim.poolId !== asked.poolId || sim.tariffId !== asked.tariffId) {
    const there = `pool ${sim.poolId ?? 'none'}, tariff ${sim.tariffId ?? 'none'}`
    return { code: 'sim_already_assigned', detail: `SIM ${sim.simId} is provisioned elsewhere: ${there}.` }
  }
  if (sim.suspendedBy === null) return undefined
  return { code: 'sim_state_conflict', detail: `SIM ${sim.simId} was suspended by the ${sim.suspendedBy}.` }
}

/** How long the outbox leaves a start to its caller, in milliseconds. A minute is longer than any request. */
const OWN_START_MS = 60_000

/** A person's start of suspend-on-overage: either to be carried out now, or what is known of an earlier start. */
export type SuspendStart =
  | { readonly do: 'start'; readonly request: SuspendRequest; readonly requestId: number }
  | { readonly do: 'answer'; readonly input: SuspendOnOverageInput; readonly before: RememberedStart }
type SuspendRequest = Extract<WorkflowRequest, { type: 'suspend-on-overage' }>

/**
 * Accepts a person's start of suspend-on-overage. Remembers it, and puts it into the outbox. The outbox carries it out
 * after a minute, unless the caller has ended it by then. If the carrier has refused the suspension, the run tries again.
 *
 * @throws ServiceError `sim_not_found`, `cycle_not_found`, `sim_state_conflict` for a cycle that has ended
 */
export async function takeSuspendStart(
  tx: TenantTx,
  ask: StartSuspend,
): Promise<SuspendStart & { readonly workflowId: string }> {
  if ((await readEnforcedSim(tx, ask.simId)) === undefined) {
    throw new ServiceError('sim_not_found', `There is no SIM ${ask.simId}.`)
  }
  const cycle = ask.cycle == null ? await currentCycle(tx) : await cycleNamed(tx, ask.cycle)
  if (tx.now.getTime() >= cycle.endsAt) {
    throw new ServiceError('sim_state_conflict', `Cycle ${cycle.key} has ended: nothing is enforced in it any more.`)
  }
  const workflowId = suspendOnOverageId(tx.tenantId, ask.simId, cycle.key)
  const input = suspendInputOf(tx.tenantId, cycle, {
    simId: ask.simId,
    rule: ask.rule ?? null,
    ruleFile: null,
    grace: ask.grace ?? 'PT0S',
    until: ask.until ?? 'renewal',
  })
  const isFirst = (await rememberStarts(tx, [workflowId])).has(workflowId)
  const before = isFirst ? undefined : await rememberedStart(tx, workflowId)
  if (before !== undefined) {
    if (before.refusedAt !== null) await tryAgain(tx, workflowId)
    return { do: 'answer', workflowId, input, before }
  }
  const type = 'suspend-on-overage'
  const request = { do: 'signalWithStart', type, workflowId, input, signal: 'overLimit' } as const
  await noteChange(tx, { subject: 'workflow', id: workflowId, before: null, after: input })
  const requestId = await requestOwnStart(tx, request, new Date(tx.now.getTime() + OWN_START_MS))
  return { do: 'start', workflowId, request, requestId }
}

/** Has a run retry a suspension that the carrier has refused, because a person asks. */
async function tryAgain(tx: TenantTx, workflowId: string): Promise<void> {
  await forgetRefusal(tx, workflowId)
  await requestWorkflows(tx, [{ do: 'signal', workflowId, signal: 'overLimit' }])
  await noteChange(tx, { subject: 'workflow', id: workflowId, before: null, after: { signal: 'overLimit' } })
}

/** The input of suspend-on-overage in a cycle. */
export const suspendInputOf = (
  tenantId: string,
  cycle: Cycle,
  ask: Pick<SuspendOnOverageInput, 'simId' | 'rule' | 'ruleFile' | 'grace' | 'until'>,
): SuspendOnOverageInput => ({
  tenantId,
  ...ask,
  cycleKey: cycle.key,
  cycleEndsAt: new Date(cycle.endsAt).toISOString(),
})

/**
 * The input of month-end-reprovision. If no cycle is named: the last one that has ended.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function monthEndInput(
  tx: TenantTx,
  ask: StartMonthEnd,
  options: WorkflowOptions,
): Promise<MonthEndInput> {
  const { billingCycle } = await tenantSettings(tx)
  const last = previousCycle(billingCycle, cycleAt(billingCycle, tx.now.getTime()))
  const cycle = await endedCycle(tx, ask.cycle ?? last.key)
  const length = parseBillingCycle(billingCycle)
  return {
    tenantId: tx.tenantId,
    cycleKey: cycle.key,
    cycleEndsAt: new Date(cycle.endsAt).toISOString(),
    closeAfter: length === 'month' || (length ?? 0) >= DAY_MS ? options.closeAfter : 'PT0S',
    ...(options.batches ?? BATCHES),
  }
}
