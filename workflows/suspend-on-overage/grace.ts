/** The grace period of suspend-on-overage: how long a SIM may stay over its limit. */
import { condition } from '@temporalio/workflow'
import { durationMs } from '../../domain/time/duration.ts'
import { isWanted, logAction, phaseTo, type SuspendRun } from './run.ts'

/** The warning before the end comes after nine tenths of the grace, but not more than an hour before its end. */
const warningMs = (graceMs: number): number => Math.min(graceMs / 10, 3_600_000)

/**
 * Waits the grace period out. It may be extended meanwhile: then its new end has a warning of its own.
 *
 * @returns true where it has passed and the SIM is still wanted suspended; a grace that would end after the
 *   cycle's end runs until then and is released by it
 */
export async function sitOutGrace(run: SuspendRun): Promise<boolean> {
  const graceMs = durationMs(run.input.grace)
  if (graceMs === 0 || run.gracePassed) return true
  const startedAt = Date.now()
  run.graceEndsAt = startedAt + graceMs
  phaseTo(run, 'grace', `over its limit; rule ${run.input.rule ?? 'of a person'} gives it ${run.input.grace}`)
  await logAction(
    run,
    'graceStarted',
    `suspended at ${iso(run.graceEndsAt)} unless it comes back under its limit`,
    null,
  )

  while (run.graceEndsAt !== null && isWanted(run)) {
    const endsAt: number = run.graceEndsAt
    await sleepOn(run, endsAt, endsAt - warningMs(endsAt - startedAt))
    if (run.graceEndsAt !== endsAt || !isWanted(run)) continue
    if (Date.now() < endsAt) await logAction(run, 'graceEnding', `suspended at ${iso(endsAt)}`, null)
    await sleepOn(run, endsAt, endsAt)
    if (run.graceEndsAt === endsAt && isWanted(run)) {
      run.gracePassed = true
      run.timeline.done('grace', `passed at ${iso(endsAt)}`)
      return true
    }
  }
  await release(run, reasonOf(run))
  return false
}

/** Waits until an instant, unless the SIM is released or the grace gets another end before. */
async function sleepOn(run: SuspendRun, endsAt: number, at: number): Promise<void> {
  run.timeline.waits({ what: 'the end of the grace period', until: iso(endsAt), why: run.state.reason })
  const left = Math.min(at, run.boundaryAt) - Date.now()
  if (left > 0) await condition(() => run.graceEndsAt !== endsAt || !isWanted(run), left)
  run.timeline.waits(null)
}

async function release(run: SuspendRun, why: string): Promise<void> {
  run.timeline.done('grace', why)
  phaseTo(run, 'idle', why)
  // A demand that outlives the cycle must not start another grace.
  if (run.mailbox.demand === 'over') run.mailbox.demand = 'refused'
  await logAction(run, 'released', why, null)
}

function reasonOf({ mailbox }: SuspendRun): string {
  if (mailbox.ending !== null) return `grace ended early: ${mailbox.ending}`
  if (mailbox.demand === 'cleared') return 'came back under its limit within the grace period'
  if (mailbox.demand === 'stoodDown') return 'the watchdog stands down: mode weakened or SIM exempt'
  return 'the billing cycle ended within the grace period'
}

const iso = (at: number): string => new Date(at).toISOString()
