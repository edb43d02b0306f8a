/**
 * Updates from persons to a running suspend-on-overage. The present state decides whether an update is accepted. The
 * result is the state after it. As for signals, a handler only stores the update and the body decides. So it returns at
 * once.
 */
import { defineUpdate, setHandler } from '@temporalio/workflow'
import type {
  SuspendOnOverageState,
  SuspendUpdateResult,
  SuspendUpdates,
} from '../../domain/temporal/suspend-on-overage.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { end } from './messages.ts'
import { beginGrace, keepUntil, resumeRun, type SuspendRun, stateOf } from './run.ts'

/** Handles updates from now on, and earlier ones at once. Call when the first phase has begun. */
export function takeUpdates(run: SuspendRun): void {
  take(run, 'resume', whyNotResume, resume)
  take(run, 'keepSuspended', whyNotKeep, keep)
  take(run, 'extendGrace', whyNotExtend, extend)
}

function take<Name extends keyof SuspendUpdates>(
  run: SuspendRun,
  name: Name,
  whyNot: (run: SuspendRun, ask: SuspendUpdates[Name]) => string | null,
  act: (run: SuspendRun, ask: SuspendUpdates[Name]) => void,
): void {
  const validator = (ask: SuspendUpdates[Name]) => {
    const why = whyNot(run, ask)
    if (why !== null) throw new Error(why)
  }
  const handle = (ask: SuspendUpdates[Name]): SuspendUpdateResult => {
    act(run, ask)
    const { phase, graceEndsAt, until, reason } = stateOf(run)
    run.timeline.done(name, reason)
    return { phase, graceEndsAt, until, reason }
  }
  setHandler(defineUpdate<SuspendUpdateResult, [SuspendUpdates[Name]]>(name), handle, { validator })
}

/** Why the run takes no more updates: it has ended, or an ending leaves the SIM unchanged. Null if it still does. */
function whyOver({ mailbox: { ending }, state: { phase } }: SuspendRun): string | null {
  if (phase === 'ended') return 'the workflow has ended'
  if (ending === 'cancelled') return 'the workflow is being cancelled, and the SIM stays as it is'
  if (ending === 'personActed') return 'a person has acted on the SIM, and the workflow steps back'
  return null
}

const whyNotResume = (run: SuspendRun): string | null => whyOver(run)

/** The phase after a resume, and its meaning, by the phase before. */
const RESUMED = {
  idle: ['idle', 'it is not suspended in this cycle'],
  grace: ['idle', 'its grace ends, and it is not suspended in this cycle'],
  held: ['idle', 'what the guard holds is dropped, and it is not suspended in this cycle'],
  suspending: ['suspending', 'its suspend ticket is taken back, or undone once the carrier has ended it'],
  suspended: ['activating', 'it comes back, and is not suspended again in this cycle'],
  activating: ['activating', 'it comes back, and is not suspended again in this cycle'],
  ended: ['ended', 'it has ended'],
} as const satisfies Record<SuspendOnOverageState['phase'], readonly [SuspendOnOverageState['phase'], string]>

function resume(run: SuspendRun): void {
  end(run.mailbox, 'resumed')
  const [phase, words] = RESUMED[run.state.phase]
  resumeRun(run, phase, `a person resumes the SIM: ${words}`)
}

function whyNotKeep(run: SuspendRun): string | null {
  const { phase } = run.state
  if (phase !== 'suspending' && phase !== 'suspended') {
    return `the SIM is not suspended by this workflow (phase ${phase}): only a suspension can be kept`
  }
  if (run.mailbox.ending === null) return null
  return whyOver(run) ?? `the SIM is on its way back (${run.mailbox.ending})`
}

function keep(run: SuspendRun, ask: SuspendUpdates['keepSuspended']): void {
  const until = ask.until ?? 'manual'
  const words =
    until === 'manual'
      ? 'a person keeps it suspended beyond the renewal, until a person acts'
      : `a person lets it come back with the renewal at ${run.input.cycleEndsAt}`
  keepUntil(run, until, words)
}

/** The new end of the grace, in epoch milliseconds. */
const newEndOf = (run: SuspendRun, { by, until }: SuspendUpdates['extendGrace']): number =>
  until == null ? (run.graceEndsAt ?? 0) + durationMs(by ?? 'PT0S') : Date.parse(until)

function whyNotExtend(run: SuspendRun, ask: SuspendUpdates['extendGrace']): string | null {
  const { mailbox, graceEndsAt, state, input } = run
  if (state.phase !== 'grace' || graceEndsAt === null) return `no grace period runs (phase ${state.phase})`
  if (mailbox.ending !== null || mailbox.demand !== 'over') return 'the grace period is ending: the SIM is released'
  const at = newEndOf(run, ask)
  if (!(at > graceEndsAt)) {
    return `the grace period ends at ${iso(graceEndsAt)} already; got ${iso(at)}: ask for a later end`
  }
  if (at <= run.boundaryAt) return null
  return `the grace period would end at ${iso(at)}, after the billing cycle: ask for ${input.cycleEndsAt} at the latest`
}

function extend(run: SuspendRun, ask: SuspendUpdates['extendGrace']): void {
  const endsAt = newEndOf(run, ask)
  beginGrace(run, endsAt, `a person has extended the grace period to ${iso(endsAt)}`)
}

/**
 * Formats an instant, even one outside the range of dates: otherwise the validator would fail without a message to the
 * caller.
 */
const iso = (at: number): string => (Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : 'no instant there is')
