/** The grace period of suspend-on-overage: how long a SIM may stay over its limit. */
import { condition } from '@temporalio/workflow'
import { durationMs } from '../domain/duration.ts'
import { phaseTo, type SuspendRun, tell } from './suspend-run.ts'

/** The warning before the end comes after nine tenths of the grace, but not more than an hour before its end. */
const warningMs = (graceMs: number): number => Math.min(graceMs / 10, 3_600_000)

/**
 * Waits the grace period out.
 *
 * @returns true where it has passed and the SIM is still wanted suspended; a grace that would end after the
 *   cycle's end runs until then and is released by it
 */
export async function sitOutGrace(run: SuspendRun): Promise<boolean> {
  const { input, mailbox } = run
  const graceMs = durationMs(input.grace)
  if (graceMs === 0) return true
  const endsAt = Date.now() + graceMs
  phaseTo(run, 'grace', `over its limit; rule ${input.rule ?? 'of a person'} gives it ${input.grace}`)
  run.state.graceEndsAt = new Date(endsAt).toISOString()
  await tell(run, 'graceStarted', `suspended at ${run.state.graceEndsAt} unless it comes back under its limit`, null)

  const dropped = () => mailbox.demand !== 'over' || mailbox.ending !== null
  const until = async (at: number): Promise<void> => {
    const left = Math.min(at, run.boundaryAt) - Date.now()
    if (left > 0) await condition(dropped, left)
  }
  await until(endsAt - warningMs(graceMs))
  if (!dropped() && Date.now() < run.boundaryAt) {
    await tell(run, 'graceEnding', `suspended at ${new Date(endsAt).toISOString()}`, null)
    await until(endsAt)
  }
  if (!dropped() && endsAt < run.boundaryAt) return true

  const why = reasonOf(run)
  phaseTo(run, 'idle', why)
  // A demand that outlives the cycle must not start another grace.
  if (mailbox.demand === 'over') mailbox.demand = 'refused'
  await tell(run, 'released', why, null)
  return false
}

function reasonOf({ mailbox }: SuspendRun): string {
  if (mailbox.ending !== null) return `grace ended early: ${mailbox.ending}`
  if (mailbox.demand === 'cleared') return 'came back under its limit within the grace period'
  if (mailbox.demand === 'stoodDown') return 'the watchdog stands down: mode weakened or SIM exempt'
  return 'the billing cycle ended within the grace period'
}
