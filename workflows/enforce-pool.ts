/**
 * Stops SIMs of a pool that is over its capacity, as often as it is found over, until the cycle ends.
 *
 *   overLimit ──▶ pick by the rule's policy ──▶ arm each picked SIM's suspend-on-overage
 *   cleared, standDown ──▶ the same signal to those armed
 *
 * Signals that come while it works are one more round, not one each.
 */
import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineSignal,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { PoolPick } from '../activities/enforcement.ts'
import { type EnforcePoolInput, type EnforcePoolState, suspendOnOverageId } from '../domain/lifecycle.ts'
import { long, short } from './calls.ts'
import { answerState, showState } from './visibility.ts'

/** What a continued run takes over. */
interface Carried extends EnforcePoolState {
  readonly next: Next
  readonly toldTooLittle: boolean
}
type Next = 'overLimit' | 'cleared' | 'standDown' | null

/** @param carried what a continued run takes over; absent on the first, which begins with a round */
export async function enforcePool(input: EnforcePoolInput, carried?: Carried): Promise<EnforcePoolState> {
  const armed = new Set(carried?.armed)
  const state = { rounds: carried?.rounds ?? 0, over: carried?.over ?? false, tooLittle: carried?.tooLittle ?? false }
  const told = { tooLittle: carried?.toldTooLittle ?? false }
  let next: Next = carried === undefined ? 'overLimit' : carried.next
  const answer = () => ({ ...state, armed: [...armed] })
  answerState(answer)
  for (const name of ['overLimit', 'cleared', 'standDown'] as const) {
    setHandler(defineSignal(name), () => {
      next = name
    })
  }

  for (;;) {
    const left = Date.parse(input.cycleEndsAt) - Date.now()
    if (left <= 0 || !(await condition(() => next !== null, left))) break
    const ask = next
    next = null
    if (ask === 'overLimit') await round(input, armed, state, told)
    else if (ask !== null) await passOn(input, armed, state, ask)
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof enforcePool>(input, { ...answer(), next, toldTooLittle: told.tooLittle })
    }
  }
  showState('ended', 'the billing cycle has ended')
  return answer()
}

interface RoundState {
  rounds: number
  over: boolean
  tooLittle: boolean
}

async function round(
  input: EnforcePoolInput,
  armed: Set<number>,
  state: RoundState,
  told: { tooLittle: boolean },
): Promise<void> {
  const { tenantId, poolId, cycleKey, rule, ruleFile, target, grace, until } = input
  const pick = await short.pickPoolTargets({ tenantId, poolId, cycleKey, rule, target })
  state.rounds += 1
  if (pick.over !== state.over) showState(pick.over ? 'over' : 'under', `round ${state.rounds}`)
  state.over = pick.over
  state.tooLittle = pick.tooLittle
  if (pick.tooLittle && !told.tooLittle) {
    told.tooLittle = true
    await tellTooLittle(input, pick)
  }
  if (pick.simIds.length === 0) return
  const { simIds } = pick
  await long.armSims({ tenantId, simIds, cycle: cycleKey, rule, ruleFile, grace, until, signal: 'overLimit' })
  for (const simId of simIds) armed.add(simId)
}

/** Has the service log, once, that the pool goes on being over whatever is stopped: a person has to look. */
async function tellTooLittle(input: EnforcePoolInput, pick: PoolPick): Promise<void> {
  const { tenantId, poolId, cycleKey: cycle, rule } = input
  const detail =
    `it is ${pick.overageMB} MB over, and stopping all that rule ${rule} may stop does not cover it; ` +
    `left alone as exempt, in a weaker mode or held: ${pick.passedOver} SIM(s)`
  const { workflowId } = workflowInfo()
  const entry = { poolId, cycle, rule, action: 'tooLittleToPick', counter: 0, detail, workflowId } as const
  try {
    await short.logAction({ tenantId, entry })
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error
    log.error('the service refuses a log entry', { action: entry.action, poolId, reason: error.cause?.message })
  }
}

async function passOn(
  { tenantId, cycleKey }: EnforcePoolInput,
  armed: ReadonlySet<number>,
  state: RoundState,
  name: 'cleared' | 'standDown',
): Promise<void> {
  const workflowIds = [...armed].map((simId) => suspendOnOverageId(tenantId, simId, cycleKey))
  if (workflowIds.length > 0) await long.signalWorkflows({ tenantId, workflowIds, name })
  if (name === 'cleared' && state.over) {
    state.over = false
    state.tooLittle = false
    showState('under', 'the pool is under its capacity again')
  }
}
