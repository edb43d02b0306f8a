/**
 * Signals of suspend-on-overage, boiled down to what the workflow has to know at any moment.
 *
 * A handler only notes; the body decides. So a signal may come at any moment, before its workflow too.
 */
import { defineSignal, setHandler } from '@temporalio/workflow'
import type { SuspendSignal } from '../domain/lifecycle.ts'

/** What the watchdog wants of the SIM: the last of overLimit, cleared and standDown. */
export type Demand = 'over' | 'cleared' | 'stoodDown' | 'refused'
/** What ends the run; `boundary` is the cycle's end by the workflow's own timer. */
export type Ending = 'cancelled' | 'personActed' | 'resumed' | 'renewed' | 'boundary'

export interface Mailbox {
  demand: Demand
  /** How often overLimit came: tells whether it came again meanwhile. */
  overs: number
  ending: Ending | null
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
  const mailbox: Mailbox = { demand, overs: 0, ending: null }
  const on = (name: SuspendSignal, note: () => void) => setHandler(defineSignal(name), note)
  on('overLimit', () => {
    mailbox.demand = 'over'
    mailbox.overs += 1
  })
  on('cleared', () => {
    mailbox.demand = 'cleared'
  })
  on('standDown', () => {
    mailbox.demand = 'stoodDown'
  })
  on('personActed', () => end(mailbox, 'personActed'))
  on('resume', () => end(mailbox, 'resumed'))
  on('renewed', () => end(mailbox, 'renewed'))
  return mailbox
}
