/** Starting workflows: checks and inputs. Settings and clocks enter here, since workflows read none. */
import { SimStatus } from '../domain/codes.ts'
import { type Cycle, cycleAt, parseBillingCycle, previousCycle } from '../domain/cycle.ts'
import { ServiceError } from '../domain/errors.ts'
import {
  type MonthEndInput,
  type ProvisionAndActivateInput,
  type SuspendOnOverageInput,
  suspendOnOverageId,
  type Waits,
} from '../domain/lifecycle.ts'
import type { ArmAsk, StartMonthEnd, StartProvision, StartSuspend } from '../domain/workflow-asks.ts'
import { currentCycle, tenantTerms } from '../store/cycles.ts'
import { readEnforcedSim } from '../store/enforcement.ts'
import { lockLine } from '../store/lines.ts'
import { findSimId } from '../store/sims.ts'
import type { TenantTx } from '../store/tenancy.ts'
import { rememberStarts, wasStarted } from '../store/workflow-outbox.ts'
import { cycleNamed, endedCycle } from './month-end.ts'
import { checkAssignment } from './tickets.ts'

/** Settings that go into the workflows' inputs. */
export interface LifecycleTerms {
  readonly waits: Waits
  /** ISO 8601; holds for cycles of a day or longer. */
  readonly closeAfter: string
}

const PAGE = 100
const PARALLEL = 20
const DAY_MS = 86_400_000

/**
 * The SIM a request names.
 *
 * @throws ServiceError `invalid_request` for none or both, `sim_not_found`
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
 * Input of provision-and-activate. Accepts an Unprovisioned SIM, one that was not activated since its provision
 * ticket, and one that is Active, both in the asked pool and tariff.
 *
 * @throws ServiceError `sim_already_assigned`, `sim_state_conflict`, and what an assignment can fail with
 */
export async function provisionInput(
  tx: TenantTx,
  simId: number,
  ask: StartProvision,
  terms: LifecycleTerms,
): Promise<ProvisionAndActivateInput> {
  const line = await lockLine(tx, simId)
  if (line === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  const asked = { poolId: ask.poolId ?? null, tariffId: ask.tariffId ?? null }
  if (line.status === SimStatus.Unprovisioned) await checkAssignment(tx, asked, asked.tariffId)
  else if (line.poolId !== asked.poolId || line.tariffId !== asked.tariffId) {
    throw new ServiceError(
      'sim_already_assigned',
      `SIM ${simId} is provisioned elsewhere: pool ${line.poolId ?? 'none'}, tariff ${line.tariffId ?? 'none'}.`,
    )
  } else if (line.suspendedBy !== null) {
    throw new ServiceError('sim_state_conflict', `SIM ${simId} was suspended by the ${line.suspendedBy}.`)
  }
  return {
    tenantId: tx.tenantId,
    simId,
    ...(ask.poolId == null ? {} : { poolId: ask.poolId }),
    ...(ask.tariffId == null ? {} : { tariffId: ask.tariffId }),
    ...(ask.tag == null ? {} : { tag: ask.tag }),
    waits: terms.waits,
  }
}

/**
 * Input of suspend-on-overage for a person's or rule's ask.
 *
 * @returns the input, and whether this cycle's run was started before
 * @throws ServiceError `sim_not_found`, `cycle_not_found`, `sim_state_conflict` for a cycle that has ended
 */
export async function suspendInput(
  tx: TenantTx,
  ask: StartSuspend & { readonly ruleFile?: string },
  terms: LifecycleTerms,
): Promise<{ input: SuspendOnOverageInput; workflowId: string; known: boolean }> {
  if ((await readEnforcedSim(tx, ask.simId)) === undefined) {
    throw new ServiceError('sim_not_found', `There is no SIM ${ask.simId}.`)
  }
  const cycle = ask.cycle == null ? await currentCycle(tx) : await cycleNamed(tx, ask.cycle)
  if (tx.now.getTime() >= cycle.endsAt) {
    throw new ServiceError('sim_state_conflict', `Cycle ${cycle.key} has ended: nothing is enforced in it any more.`)
  }
  const workflowId = suspendOnOverageId(tx.tenantId, ask.simId, cycle.key)
  return {
    workflowId,
    known: await wasStarted(tx, workflowId),
    input: suspendInputOf(tx.tenantId, cycle, terms, {
      simId: ask.simId,
      rule: ask.rule ?? null,
      ruleFile: ask.ruleFile ?? null,
      grace: ask.grace ?? 'PT0S',
      until: ask.until ?? 'renewal',
    }),
  }
}

/** Input of suspend-on-overage in a cycle. */
export const suspendInputOf = (
  tenantId: string,
  cycle: Cycle,
  terms: LifecycleTerms,
  ask: Pick<SuspendOnOverageInput, 'simId' | 'rule' | 'ruleFile' | 'grace' | 'until'>,
): SuspendOnOverageInput => ({
  tenantId,
  ...ask,
  cycleKey: cycle.key,
  cycleEndsAt: new Date(cycle.endsAt).toISOString(),
  waits: terms.waits,
})

/**
 * Arms a SIM's suspend-on-overage from a pool's enforcement: the start is remembered for the cycle.
 *
 * @returns whether this is the cycle's first run for the SIM
 */
export async function armInput(tx: TenantTx, ask: ArmAsk, terms: LifecycleTerms) {
  const { input, workflowId } = await suspendInput(tx, ask, terms)
  const first = (await rememberStarts(tx, [workflowId])).has(workflowId)
  return { input, workflowId, first }
}

/**
 * Input of month-end-reprovision. Without a cycle, the last one that has ended.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function monthEndInput(tx: TenantTx, ask: StartMonthEnd, terms: LifecycleTerms): Promise<MonthEndInput> {
  const { billingCycle } = await tenantTerms(tx)
  const running = cycleAt(billingCycle, tx.now.getTime())
  const key = ask.cycle ?? (ask.dryRun === true ? running.key : previousCycle(billingCycle, running).key)
  const cycle = ask.dryRun === true ? await cycleNamed(tx, key) : await endedCycle(tx, key)
  const length = parseBillingCycle(billingCycle)
  return {
    tenantId: tx.tenantId,
    cycleKey: cycle.key,
    cycleEndsAt: new Date(cycle.endsAt).toISOString(),
    closeAfter: length === 'month' || (length ?? 0) >= DAY_MS ? terms.closeAfter : 'PT0S',
    pageSize: PAGE,
    parallel: PARALLEL,
    waits: terms.waits,
  }
}
