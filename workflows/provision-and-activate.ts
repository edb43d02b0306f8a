/**
 * Takes a SIM from Unprovisioned to Active, and undoes its own part when a step fails for good or it is cancelled.
 *
 *   check ──▶ provision ticket ──▶ activate ticket ──▶ read back ──▶ activated
 *                    └──── failed or cancelled ────▶ unassign ticket ──▶ compensated / cancelled
 *
 * Undone is only what a ticket of this run has completed. One run at a time for each SIM: the workflow id says which.
 */
import { workflowInfo } from '@temporalio/workflow'
import type { SimNow } from '../activities/sims.ts'
import type { TicketAsk } from '../activities/tickets.ts'
import type {
  ProvisionAndActivateInput,
  ProvisionAndActivateResult,
  ProvisionAndActivateState,
} from '../domain/lifecycle.ts'
import { failureOf, short, stepKey } from './calls.ts'
import { type Cancel, endCancelled, heedingCancel } from './cancelling.ts'
import { endOfTicket } from './tickets.ts'
import { answerState, showState } from './visibility.ts'

type Failure = NonNullable<ProvisionAndActivateResult['failure']>
type Step = 'provision' | 'activate' | 'unassign'
type Writable<T> = { -readonly [K in keyof T]: T[K] }

export async function provisionAndActivate(input: ProvisionAndActivateInput): Promise<ProvisionAndActivateResult> {
  const state: Writable<ProvisionAndActivateState> = {
    step: 'checking',
    provisionTicket: null,
    activateTicket: null,
    unassignTicket: null,
  }
  answerState(() => ({ ...state }))
  const { outcome, failure } = await heedingCancel((cancel) => run(input, state, cancel))
  const { step: _, ...tickets } = state
  const result = { outcome, failure, ...tickets }
  showState(outcome, failure?.detail ?? `SIM ${input.simId}: ${outcome}`)
  state.step = 'done'
  if (outcome === 'cancelled') endCancelled(result, 'cancelled; what this run had done is undone')
  return result
}

type Ending = Pick<ProvisionAndActivateResult, 'outcome' | 'failure'>

async function run(
  input: ProvisionAndActivateInput,
  state: Writable<ProvisionAndActivateState>,
  cancel: Cancel,
): Promise<Ending> {
  const found = await look(input)
  if ('failure' in found) return { outcome: 'failed', failure: found.failure }
  const refusal = refusalOf(input, found.sim)
  if (refusal !== null) return { outcome: 'failed', failure: refusal }
  if (found.sim.status === 'Active') return { outcome: 'alreadyActive', failure: null }
  if (cancel.requested) return { outcome: 'cancelled', failure: null }

  let provisioned = false
  if (found.sim.status === 'Unprovisioned') {
    state.step = 'provisioning'
    const failure = await step('provision', input, state, cancel)
    if (failure !== null) return { outcome: cancel.requested ? 'cancelled' : 'failed', failure }
    provisioned = state.provisionTicket !== null
    if (cancel.requested) return await undo(input, state, cancel, null, provisioned)
  }

  state.step = 'activating'
  const failure = await step('activate', input, state, cancel)
  // A cancel that comes after the activation of a SIM that was provisioned before this run finds nothing to undo.
  if (failure !== null || (cancel.requested && provisioned)) {
    return await undo(input, state, cancel, failure, provisioned)
  }
  return await readBack(input)
}

async function look(input: ProvisionAndActivateInput): Promise<{ sim: SimNow } | { failure: Failure }> {
  try {
    return { sim: await short.readSim({ tenantId: input.tenantId, simId: input.simId }) }
  } catch (error) {
    return { failure: { step: 'check', ticketId: null, ...failureOf(error) } }
  }
}

const isThere = (input: ProvisionAndActivateInput, sim: SimNow): boolean =>
  (input.poolId === undefined || sim.poolId === input.poolId) &&
  (input.tariffId === undefined || sim.tariffId === input.tariffId)

/** Why the SIM, as it is, cannot be taken to Active; null where it can, or is. */
function refusalOf(input: ProvisionAndActivateInput, sim: SimNow): Failure | null {
  if (sim.status === 'Unprovisioned') return null
  const refuse = (code: string, detail: string): Failure => ({ step: 'check', ticketId: null, code, detail })
  if (!isThere(input, sim)) {
    return refuse(
      'sim_already_assigned',
      `SIM ${sim.simId} is ${sim.status} in pool ${sim.poolId ?? 'none'} with tariff ${sim.tariffId ?? 'none'}; ` +
        `asked for pool ${input.poolId ?? 'any'} and tariff ${input.tariffId ?? 'any'}`,
    )
  }
  if (sim.status === 'Suspended' && sim.suspendedBy !== null) {
    return refuse('sim_state_conflict', `SIM ${sim.simId} was suspended by ${sim.suspendedBy}; activate it by a ticket`)
  }
  return null
}

async function step(
  kind: Step,
  input: ProvisionAndActivateInput,
  state: Writable<ProvisionAndActivateState>,
  cancel: Cancel,
): Promise<Failure | null> {
  const { tenantId, simId, waits } = input
  let ticketId: string | null = null
  try {
    ticketId = (await short.openTicket({ ...askOf(kind, input), tenantId, simId, key: stepKey(kind) })).ticketId
    state[`${kind}Ticket`] = ticketId
    if (ticketId === null) return null
    const withdraw = () => cancel.requested && kind !== 'unassign'
    const end = await endOfTicket({ tenantId, ticketId, waits }, withdraw)
    return end.status === 'complete' ? null : { step: kind, ticketId, code: end.code, detail: end.detail }
  } catch (error) {
    return { step: kind, ticketId, ...failureOf(error) }
  }
}

function askOf(kind: Step, input: ProvisionAndActivateInput): Omit<TicketAsk, 'tenantId' | 'simId' | 'key'> {
  if (kind === 'activate') return { kind }
  if (kind === 'unassign') return { kind, cause: { by: 'workflow', workflowId: workflowInfo().workflowId } }
  const { poolId, tariffId, tag } = input
  return {
    kind,
    ...(poolId === undefined ? {} : { poolId }),
    ...(tariffId === undefined ? {} : { tariffId }),
    ...(tag === undefined ? {} : { tag }),
  }
}

async function undo(
  input: ProvisionAndActivateInput,
  state: Writable<ProvisionAndActivateState>,
  cancel: Cancel,
  failure: Failure | null,
  provisioned: boolean,
): Promise<Ending> {
  const asked = cancel.requested
  if (!provisioned) return { outcome: asked ? 'cancelled' : 'failed', failure }
  state.step = 'compensating'
  showState('compensating', failure?.detail ?? 'cancelled: the provisioning is being undone')
  const second = await step('unassign', input, state, cancel)
  if (second === null) return { outcome: asked ? 'cancelled' : 'compensated', failure }
  const first = failure === null ? 'cancelled' : `${failure.step} failed (${failure.code}: ${failure.detail})`
  return { outcome: 'failed', failure: { ...second, detail: `${second.detail}; undone because: ${first}` } }
}

async function readBack(input: ProvisionAndActivateInput): Promise<Ending> {
  const found = await look(input)
  if ('failure' in found) return { outcome: 'failed', failure: found.failure }
  if (found.sim.status === 'Active') return { outcome: 'activated', failure: null }
  const detail = `SIM ${input.simId} was activated and is ${found.sim.status} again: someone else changed it since`
  return { outcome: 'failed', failure: { step: 'check', ticketId: null, code: 'sim_state_conflict', detail } }
}
