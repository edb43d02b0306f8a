/** Records the events of ended tickets. */
import { EventSeverity, EventType, labelOf, TicketType } from '../../domain/codes.ts'
import type { TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { insertEvents } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { simLabels } from '../sims/rows/sims.ts'
import type { TicketRecord } from './rows/tickets.ts'

type EventTicket = {
  readonly ticket: Pick<TicketRecord, 'id' | 'simId' | 'type' | 'unassign' | 'attempts'>
  readonly end: TicketEnd
}

/** Writes the Connectivity events of ended tickets, in one statement for any number. A failure is a Warning. */
export async function recordTicketEvents(tx: TenantTx, ended: readonly EventTicket[]): Promise<void> {
  const labels = await simLabels(
    tx,
    ended.map(({ ticket }) => ticket.simId),
  )
  await insertEvents(
    tx,
    ended.map(({ ticket, end }) => {
      const label = labels.get(ticket.simId) ?? String(ticket.simId)
      const kind =
        ticket.type === TicketType.Provision && ticket.unassign ? 'Unassign' : labelOf(TicketType, ticket.type)
      return {
        type: EventType.Connectivity,
        severity: end.status === 'failed' ? EventSeverity.Warning : EventSeverity.Info,
        title: `${kind} ${end.status === 'complete' ? 'completed' : end.status}: SIM ${label}`,
        description: descriptionOf({ ticket, end }, label),
      }
    }),
  )
}

function descriptionOf({ ticket: { id, attempts }, end }: EventTicket, label: string): string {
  switch (end.status) {
    case 'complete':
      return `Ticket ${id} has completed on SIM ${label}.`
    case 'failed':
      return `Ticket ${id} on SIM ${label} has failed after ${attempts} attempt(s): ${end.detail} (${end.code}).`
    case 'cancelled':
      return `Ticket ${id} on SIM ${label} was cancelled while it was pending.`
  }
}
