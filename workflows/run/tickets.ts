/**
 * Waits for the end of a ticket, with the option to cancel it.
 *
 * The service signals the end. A signal may come before the wait begins, twice, or not at all: the run stores the
 * signals, and also reads the ticket now and then. So a lost signal only costs time.
 */
import { condition, defineSignal, setHandler } from '@temporalio/workflow'
import type { TicketRef } from '../../activities/tickets.ts'
import { cancelledEnd, type EndedTicket, TICKETS_ENDED, type TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { short } from './activities.ts'

export interface OpenTicket extends TicketRef {
  /** A ticket of this run behind it on the same SIM. It is cancelled with it. */
  readonly behind?: string
}

/** How a wait for a ticket ended, and whether this run has cancelled the ticket. */
interface WaitEnd {
  readonly ended: TicketEnd
  readonly withdrawn: boolean
}

/** Signalled ends of this run's tickets that no wait has taken yet. */
export interface TicketEnds {
  /** Counts the signals so far. */
  readonly count: () => number
  note(ended: EndedTicket): void
  /** @returns how the ticket ended, once; undefined if its end was not signalled */
  take(ticketId: string): TicketEnd | undefined
  has(ticketId: string): boolean
}

/**
 * Pauses between two looks at a ticket whose end is not signalled, in milliseconds. Most tickets end in seconds. Slower
 * ones are tried for half an hour, at pauses of minutes.
 */
const LOOKS = { firstMs: 60_000, longestMs: 900_000 }

/** Takes signals of tickets' ends from now on, and those that came before at once. Call first. */
export function heedTicketEnds(): TicketEnds {
  const known = new Map<string, TicketEnd>()
  let signals = 0
  const note = ({ ticketId, status, code, detail }: EndedTicket) => void known.set(ticketId, { status, code, detail })
  setHandler(defineSignal<[readonly EndedTicket[]]>(TICKETS_ENDED), (ended) => {
    signals += 1
    for (const each of ended) note(each)
  })
  return {
    count: () => signals,
    note,
    has: (ticketId) => known.has(ticketId),
    take(ticketId) {
      const end = known.get(ticketId)
      known.delete(ticketId)
      return end
    },
  }
}

/**
 * Waits until a ticket has ended.
 *
 * @param withdraw once this is true, the ticket is cancelled if it is still Pending. A Processing ticket is waited for
 *   all the same, because the carrier may have acted already.
 */
export const endOfTicket = async (ends: TicketEnds, ticket: OpenTicket, withdraw: () => boolean): Promise<TicketEnd> =>
  (await endOrWithdrawn(ends, ticket, withdraw)).ended

/** Also returns whether this run has cancelled the ticket. @param mostMs when it cancels it too; null: never */
export async function endOrWithdrawn(
  ends: TicketEnds,
  ticket: OpenTicket,
  withdraw: () => boolean,
  mostMs: number | null = null,
): Promise<WaitEnd> {
  const { tenantId, ticketId, behind } = ticket
  const known = ends.take(ticketId)
  if (known !== undefined) return await withCanceller(known, ticket, withdraw)
  const waited = await cancelledIf(untilEnded(ends, ticket), withdraw, mostMs, async () => {
    // From the last to the first, to keep any of them from being begun.
    const cancelled = [...(behind === undefined ? [] : [behind]), ticketId]
    let withdrawn = false
    for (const id of cancelled) {
      withdrawn = await short.cancelTicket({ tenantId, ticketId: id })
      if (withdrawn) ends.note({ ticketId: id, ...cancelledEnd(id) })
    }
    return withdrawn
  })
  return waited.withdrawn ? waited : await withCanceller(waited.ended, ticket, withdraw)
}

/**
 * Asks the service which workflow cancelled a ticket. A reset run may get the end of a ticket that it cancelled before
 * the reset, together with its own request to cancel it.
 */
async function withCanceller(
  ended: TicketEnd,
  { tenantId, ticketId }: OpenTicket,
  withdraw: () => boolean,
): Promise<WaitEnd> {
  const asks = ended.status === 'cancelled' && withdraw()
  return { ended, withdrawn: asks && (await short.cancelTicket({ tenantId, ticketId })) }
}

/** The end of a ticket, from its signal or from a look. */
async function untilEnded(ends: TicketEnds, { tenantId, ticketId }: OpenTicket): Promise<TicketEnd> {
  for (let looks = 1; ; looks++) {
    await condition(() => ends.has(ticketId), backoffMs(looks, LOOKS))
    const end = ends.take(ticketId) ?? (await short.lookAtTicket({ tenantId, ticketId }))
    if (end !== null) return end
  }
}

async function cancelledIf(
  end: Promise<TicketEnd>,
  withdraw: () => boolean,
  mostMs: number | null,
  cancel: () => Promise<boolean>,
): Promise<WaitEnd> {
  let over = false
  const noted = () => {
    over = true
  }
  end.then(noted, noted)
  const woken = await waitFor(() => over || withdraw(), mostMs)
  const withdrawn = !over && (!woken || withdraw()) && (await cancel())
  return { ended: await end, withdrawn }
}

async function waitFor(what: () => boolean, mostMs: number | null): Promise<boolean> {
  if (mostMs !== null) return mostMs > 0 ? await condition(what, mostMs) : what()
  await condition(what)
  return true
}
