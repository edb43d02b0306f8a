/**
 * Signals of suspend-on-overage, boiled down to what the workflow has to know at any moment.
 *
 * A handler only notes; the body decides. So a signal may come at any moment, before its workflow too.
 */
import { defineSignal, setHandler } from '@temporalio/workflow'
import { SUSPEND_SIGNALS, type SuspendSignal } from '../../domain/temporal/signals.ts'

/**
 * What the watchdog wants of the SIM: the last of overLimit, cleared and standDown. `refused`: not suspended when it
 * was asked; another overLimit asks again. `discarded`: the guard's operator said no to this overage; only after it
 * has cleared, or the watchdog has stood down, does another overLimit ask again.
 */
export type Demand = 'over' | 'cleared' | 'stoodDown' | 'refused' | 'discarded'
/** What ends the run; `boundary` is the cycle's end by the workflow's own timer. */
export type Ending = 'cancelled' | 'personActed' | 'resumed' | 'renewed' | 'boundary'

export interface Mailbox {
  demand: Demand
  /** How often overLimit came: tells whether it came again meanwhile. */
  overs: number
  ending: Ending | null
  /** What became of the guard's hold, since the service was last asked; it may come before the answer that tells of it. */
  guard: 'released' | 'discarded' | null
}

/** The stronger one stands: who cancels or acts decides about the SIM, not the cycle. */
const STRENGTH: readonly Ending[] = ['boundary', 'renewed', 'resumed', 'personActed', 'cancelled']

export function end(mailbox: Mailbox, ending: Ending): void {
  if (mailbox.ending === null || STRENGTH.indexOf(ending) > STRENGTH.indexOf(mailbox.ending)) mailbox.ending = ending
}

/**
 * Takes the run's signals from now on, and at once those that came before.
 *
 * A run begins armed: who starts it without a signal means overLimit.
 */
export function openMailbox(demand: Demand = 'over'): Mailbox {
  const mailbox: Mailbox = { demand, overs: 0, ending: null, guard: null }
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
