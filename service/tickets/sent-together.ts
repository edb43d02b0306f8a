/** Interprets the carrier's answers to a batch together. Pure, but for the answers that it holds. */
import type { CarrierError } from '../../adapters/carrier/network.ts'
import type { TicketRecord } from './rows/tickets.ts'

export interface SharedAnswer {
  readonly ticket: TicketRecord
  /** Why the carrier did not do it; undefined if it did. */
  readonly failure: CarrierError | undefined
}
export interface Understood extends SharedAnswer {
  /** Whether the carrier refused our credentials, and not this ticket. */
  readonly isRefused: boolean
  readonly isProbe: boolean
}

/** Whether the carrier has looked at the request itself, and so has accepted our credentials. */
export const isAcceptance = ({ failure }: SharedAnswer): boolean => failure === undefined || !failure.retryable

/**
 * Requests of one batch. A refused credential is refused for all of them. If the carrier accepts one of them all the
 * same, the refusals of the others concern their tickets. So refusals are held until all answers are there, or one
 * accepts.
 *
 * @param sent how many
 */
export function sentTogether(sent: number, isProbe: boolean) {
  let waiting = sent
  let isAccepted = false
  const held: SharedAnswer[] = []
  return {
    /**
     * Takes an answer, or null if a request failed without one.
     *
     * @returns the answers understood now
     */
    take(answer: SharedAnswer | null): Understood[] {
      waiting -= 1
      const known: Understood[] = []
      if (answer?.failure?.concerns === 'account') held.push(answer)
      else if (answer !== null) {
        isAccepted ||= isAcceptance(answer)
        known.push({ ...answer, isRefused: false, isProbe })
      }
      if (isAccepted || waiting === 0) {
        known.push(...held.splice(0).map((one) => ({ ...one, isRefused: !isAccepted, isProbe })))
      }
      return known
    },
  }
}
