/** Starts of suspend-on-overage: by a person, or by the watchdog. */
import { ServiceError } from '../../domain/errors.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { StartSuspend } from '../../domain/workflows/workflow.ts'
import { noteChange } from '../../store/audit.ts'
import {
  forgetRefusal,
  type RememberedStart,
  rememberedStart,
  rememberStarts,
  requestOwnStart,
  requestWorkflows,
} from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { currentCycle, cycleNamed } from '../usage/rows/cycles.ts'
import { readEnforcedSim } from './rows/candidates.ts'

/** How long the outbox leaves a start to its caller, in milliseconds. A minute is longer than any request. */
const OWN_START_MS = 60_000

/** A person's start of suspend-on-overage: either to be carried out now, or the state of an earlier start. */
export type SuspendStart =
  | { readonly do: 'start'; readonly request: SuspendRequest; readonly requestId: number }
  | { readonly do: 'answer'; readonly input: SuspendOnOverageInput; readonly before: RememberedStart }

type SuspendRequest = Extract<WorkflowRequest, { type: 'suspend-on-overage' }>

/**
 * Accepts a person's start of suspend-on-overage. Remembers it, and puts it into the outbox. The outbox carries it out
 * after a minute, unless the caller has ended it by then. If the carrier has refused the suspension, the run tries
 * again.
 *
 * @throws ServiceError `sim_not_found`, `cycle_not_found`, `sim_state_conflict` for an ended cycle
 */
export async function takeSuspendStart(
  tx: TenantTx,
  ask: StartSuspend,
): Promise<SuspendStart & { workflowId: string }> {
  if ((await readEnforcedSim(tx, ask.simId)) === undefined)
    throw new ServiceError('sim_not_found', `There is no SIM ${ask.simId}.`)
  const cycle = ask.cycle == null ? await currentCycle(tx) : await cycleNamed(tx, ask.cycle)
  if (tx.now.getTime() >= cycle.endsAt)
    throw new ServiceError('sim_state_conflict', `Cycle ${cycle.key} has ended: nothing is enforced in it any more.`)
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

export const suspendInputOf = (
  tenantId: string,
  { key, endsAt }: Cycle,
  ask: Pick<SuspendOnOverageInput, 'simId' | 'rule' | 'ruleFile' | 'grace' | 'until'>,
): SuspendOnOverageInput => ({ tenantId, ...ask, cycleKey: key, cycleEndsAt: new Date(endsAt).toISOString() })
