/**
 * Signals of suspend-on-overage, reduced to their present effect.
 *
 * A handler only stores the signal; the body decides. So a signal may come at any moment, even before its workflow.
 */
import { defineSignal, setHandler } from '@temporalio/workflow'
import { SUSPEND_SIGNALS, type SuspendSignal } from '../../domain/temporal/signals.ts'

/**
 * The watchdog's request for the SIM: the last of overLimit, cleared and standDown. `refused`: the last attempt did not
 * suspend it; another overLimit tries again. `discarded`: a person has discarded the guard's hold. Another overLimit
 * then has no effect until the overage has cleared, or the watchdog has stood down.
 */
export type Demand = 'over' | 'cleared' | 'stoodDown' | 'refused' | 'discarded'
/** An ending of the run; `boundary` is the cycle's end by the workflow's own timer. */
export type Ending = 'cancelled' | 'personActed' | 'resumed' | 'renewed' | 'boundary'

/** Only this file changes it: outside, {@link Mailbox} is read only. */
interface OwnMailbox {
  demand: Demand
  /** Counts overLimit signals, to detect another during an attempt. */
  overs: number
  ending: Ending | null
  /**
   * The decision about the guard's hold since the last request. It may come before the response that names the hold.
   */
  guard: 'released' | 'discarded' | null
}

export type Mailbox = Readonly<OwnMailbox>

/** Endings from weakest to strongest; the strongest stays. A person's cancel or action outweighs the cycle. */
const STRENGTH: readonly Ending[] = ['boundary', 'renewed', 'resumed', 'personActed', 'cancelled']

/** Records an ending, unless a stronger one is there. */
export function end(mailbox: OwnMailbox, ending: Ending): void {
  if (mailbox.ending === null || STRENGTH.indexOf(ending) > STRENGTH.indexOf(mailbox.ending)) mailbox.ending = ending
}

/** The overage stays without a suspension until overLimit comes again. Without effect if the SIM is no longer over. */
export function refuse(mailbox: OwnMailbox): void {
  if (mailbox.demand === 'over') mailbox.demand = 'refused'
}
/** A person has discarded the guard's hold. */
export function discard(mailbox: OwnMailbox): void {
  mailbox.demand = 'discarded'
}
/** The SIM came back under its limit between two runs. */
export function clear(mailbox: OwnMailbox): void {
  if (mailbox.demand === 'over') mailbox.demand = 'cleared'
}
/** The guard is asked again: earlier decisions were about an earlier hold. */
export function forgetGuard(mailbox: OwnMailbox): void {
  mailbox.guard = null
}

/**
 * Handles the run's signals from now on, and earlier ones at once.
 *
 * @param demand the watchdog's first request. A start without a signal means overLimit.
 */
export function openMailbox(demand: Demand = 'over'): Mailbox {
  const mailbox: OwnMailbox = { demand, overs: 0, ending: null, guard: null }
  const handlers: Readonly<Record<SuspendSignal, () => void>> = {
    overLimit: () => {
      if (mailbox.demand !== 'discarded') mailbox.demand = 'over'
      mailbox.overs += 1
    },
    cleared: () => {
      mailbox.demand = 'cleared'
    },
    standDown: () => {
      mailbox.demand = 'stoodDown'
    },
    personActed: () => end(mailbox, 'personActed'),
    renewed: () => end(mailbox, 'renewed'),
    guardReleased: () => {
      mailbox.guard = 'released'
    },
    guardDiscarded: () => {
      mailbox.guard = 'discarded'
    },
  }
  for (const name of SUSPEND_SIGNALS) setHandler(defineSignal(name), handlers[name])
  return mailbox
}
