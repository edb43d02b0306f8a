/** The event of a ticket that has ended. */
import { EventSeverity, EventType, labelOf, TicketType } from '../domain/codes.ts'
import { insertEvent } from '../store/events.ts'
import { simLabel } from '../store/sims.ts'
import type { TenantTx } from '../store/tenancy.ts'
import type { TicketRecord } from '../store/tickets.ts'

const titleOf = (ticket: TicketRecord): string =>
  ticket.type === TicketType.Provision && ticket.unassign ? 'Unassign' : labelOf(TicketType, ticket.type)

/** Writes the event: Connectivity, and a warning where the ticket failed. */
export async function tellTicketEnded(
  tx: TenantTx,
  ticket: TicketRecord,
  failure: { readonly code: string; readonly text: string } | null,
): Promise<void> {
  const label = await simLabel(tx, ticket.simId)
  const how = failure === null ? 'completed' : 'failed'
  await insertEvent(tx, {
    type: EventType.Connectivity,
    severity: failure === null ? EventSeverity.Info : EventSeverity.Warning,
    title: `${titleOf(ticket)} ${how}: SIM ${label}`,
    description:
      failure === null
        ? `Ticket ${ticket.id} has completed on SIM ${label}.`
        : `Ticket ${ticket.id} on SIM ${label} has failed after ${ticket.attempts} attempt(s): ${failure.text} (${failure.code}).`,
  })
}
