/** The grace period of suspend-on-overage: how long a SIM may stay over its limit. */
import { condition } from '@temporalio/workflow'
import { durationMs } from '../../domain/time/duration.ts'
import { refuse } from './messages.ts'
import { beginGrace, isWanted, logAction, passGrace, type SuspendRun, stayActive } from './run.ts'

/** How long before the end of a grace its warning comes: a tenth of the grace, at most an hour. Milliseconds. */
const warningMs = (graceMs: number): number => Math.min(graceMs / 10, 3_600_000)

/**
 * Waits out the grace period. It may be extended; the new end then has its own warning.
 *
 * @returns true if the grace has passed and the suspension is still desired. A grace that would end after the cycle
 *   lasts until the cycle ends; then the SIM is released.
 */
export async function sitOutGrace(run: SuspendRun): Promise<boolean> {
  const graceMs = durationMs(run.input.grace)
  if (graceMs === 0 || run.gracePassed) return true
  const startedAt = Date.now()
  const reason = `over its limit; rule ${run.input.rule ?? 'of a person'} gives it ${run.input.grace}`
  beginGrace(run, startedAt + graceMs, reason)
  await logAction(
    run,
    'graceStarted',
    `suspended at ${iso(startedAt + graceMs)} unless it comes back under its limit`,
    null,
  )

  while (run.graceEndsAt !== null && isWanted(run)) {
    const endsAt: number = run.graceEndsAt
    await sleepOn(run, endsAt, endsAt - warningMs(endsAt - startedAt))
    if (run.graceEndsAt !== endsAt || !isWanted(run)) continue
    if (Date.now() < endsAt) await logAction(run, 'graceEnding', `suspended at ${iso(endsAt)}`, null)
    await sleepOn(run, endsAt, endsAt)
    if (run.graceEndsAt === endsAt && isWanted(run)) {
      passGrace(run)
      run.timeline.done('grace', `passed at ${iso(endsAt)}`)
      return true
    }
  }
  await release(run, reasonOf(run))
  return false
}

/** Waits until an instant, unless the suspension is no longer desired or the end of the grace changes before. */
async function sleepOn(run: SuspendRun, endsAt: number, at: number): Promise<void> {
  run.timeline.waits({ what: 'the end of the grace period', until: iso(endsAt), why: run.state.reason })
  const left = Math.min(at, run.boundaryAt) - Date.now()
  if (left > 0) await condition(() => run.graceEndsAt !== endsAt || !isWanted(run), left)
  run.timeline.waits(null)
}

async function release(run: SuspendRun, why: string): Promise<void> {
  run.timeline.done('grace', why)
  stayActive(run, why)
  // A demand that outlasts the cycle must not start another grace.
  refuse(run.mailbox)
  await logAction(run, 'released', why, null)
}

function reasonOf({ mailbox }: SuspendRun): string {
  if (mailbox.ending !== null) return `grace ended early: ${mailbox.ending}`
  if (mailbox.demand === 'cleared') return 'came back under its limit within the grace period'
  if (mailbox.demand === 'stoodDown') return 'the watchdog stands down: mode weakened or SIM exempt'
  return 'the billing cycle ended within the grace period'
}

const iso = (at: number): string => new Date(at).toISOString()
