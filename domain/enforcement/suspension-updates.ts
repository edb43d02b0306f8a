/**
 * Updates from persons to a suspension. The present state decides whether an update is accepted. It is only noted, like
 * a signal: the machine acts on it when it goes on.
 */
import { durationMs } from '../time/duration.ts'
import {
  boundaryOf,
  end,
  goTo,
  iso,
  type SuspensionDraft,
  type SuspensionState,
  type SuspensionUpdate,
} from './suspension-state.ts'

/** Why an update is refused now; null if it is accepted. */
export function whyNotUpdate(state: SuspensionState, update: SuspensionUpdate): string | null {
  if (update.name === 'resume') return whyOver(state)
  return update.name === 'keepSuspended' ? whyNotKeep(state) : whyNotExtend(state, update.ask)
}

export function takeUpdate(run: SuspensionDraft, update: SuspensionUpdate): void {
  if (update.name === 'resume') {
    end(run, 'resumed')
    const [phase, words] = RESUMED[run.phase]
    return goTo(run, phase, `a person resumes the SIM: ${words}`)
  }
  if (update.name === 'keepSuspended') {
    run.until = update.ask.until === 'renewal' ? 'renewal' : 'manual'
    const words =
      run.until === 'manual'
        ? 'a person keeps it suspended beyond the renewal, until a person acts'
        : `a person lets it come back with the renewal at ${run.order.cycleEndsAt}`
    return goTo(run, run.phase, words)
  }
  run.graceEndsAt = newEndOf(run, update.ask)
  goTo(run, 'grace', `a person has extended the grace period to ${iso(run.graceEndsAt)}`)
}

/** The phase after a resume, and its meaning, by the phase before. */
export const RESUMED = {
  idle: ['idle', 'it is not suspended in this cycle'],
  grace: ['idle', 'its grace ends, and it is not suspended in this cycle'],
  held: ['idle', 'what the guard holds is dropped, and it is not suspended in this cycle'],
  suspending: ['suspending', 'its suspend ticket is taken back, or undone once the carrier has ended it'],
  suspended: ['activating', 'it comes back, and is not suspended again in this cycle'],
  activating: ['activating', 'it comes back, and is not suspended again in this cycle'],
  ended: ['ended', 'it has ended'],
} as const satisfies Record<SuspensionState['phase'], readonly [SuspensionState['phase'], string]>

/** Why no more updates are taken: it has ended, or an ending leaves the SIM unchanged. Null if they still are. */
function whyOver({ ending, phase }: SuspensionState): string | null {
  if (phase === 'ended') return 'the workflow has ended'
  if (ending === 'cancelled') return 'the workflow is being cancelled, and the SIM stays as it is'
  return ending === 'personActed' ? 'a person has acted on the SIM, and the workflow steps back' : null
}

function whyNotKeep(state: SuspensionState): string | null {
  const { phase, ending } = state
  if (phase !== 'suspending' && phase !== 'suspended') {
    return `the SIM is not suspended by this workflow (phase ${phase}): only a suspension can be kept`
  }
  return ending === null ? null : (whyOver(state) ?? `the SIM is on its way back (${ending})`)
}

const newEndOf = ({ graceEndsAt }: SuspensionState, { by, until }: SuspensionUpdate['ask']): number =>
  until == null ? (graceEndsAt ?? 0) + durationMs(by ?? 'PT0S') : Date.parse(until)

function whyNotExtend(state: SuspensionState, ask: SuspensionUpdate['ask']): string | null {
  const { phase, graceEndsAt, ending, demand, order } = state
  if (phase !== 'grace' || graceEndsAt === null) return `no grace period runs (phase ${phase})`
  if (ending !== null || demand !== 'over') return 'the grace period is ending: the SIM is released'
  const at = newEndOf(state, ask)
  if (!(at > graceEndsAt)) {
    return `the grace period ends at ${iso(graceEndsAt)} already; got ${iso(at)}: ask for a later end`
  }
  if (at <= boundaryOf(state)) return null
  return `the grace period would end at ${iso(at)}, after the billing cycle: ask for ${order.cycleEndsAt} at the latest`
}
