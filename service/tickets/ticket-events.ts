/** Records the events of ended tickets. */
import { EventSeverity, EventType, labelOf, TicketType } from '../../domain/codes.ts'
import { insertEvents } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { simLabels } from '../sims/rows/sims.ts'
import type { TicketRecord } from './rows/tickets.ts'

const titleOf = (ticket: Pick<TicketRecord, 'type' | 'unassign'>): string =>
  ticket.type === TicketType.Provision && ticket.unassign ? 'Unassign' : labelOf(TicketType, ticket.type)

/** Writes the Connectivity events of completed and failed tickets. A failure is a Warning. */
export async function recordTicketEvents(
  tx: TenantTx,
  ended: readonly {
    readonly ticket: TicketRecord
    readonly failure: { readonly code: string; readonly text: string } | null
  }[],
): Promise<void> {
  const labels = await simLabels(
    tx,
    ended.map(({ ticket }) => ticket.simId),
  )
  await insertEvents(
    tx,
    ended.map(({ ticket, failure }) => {
      const label = labels.get(ticket.simId) ?? String(ticket.simId)
      const how = failure === null ? 'completed' : 'failed'
      return {
        type: EventType.Connectivity,
        severity: failure === null ? EventSeverity.Info : EventSeverity.Warning,
        title: `${titleOf(ticket)} ${how}: SIM ${label}`,
        description:
          failure === null
            ? `Ticket ${ticket.id} has completed on SIM ${label}.`
            : `Ticket ${ticket.id} on SIM ${label} has failed after ${ticket.attempts} attempt(s): ${failure.text} (${failure.code}).`,
      }
    }),
  )
}

/** Writes the Connectivity events of tickets cancelled while Pending. Uses one statement for any number. */
export async function recordCancelEvents(
  tx: TenantTx,
  tickets: readonly Pick<TicketRecord, 'id' | 'simId' | 'type' | 'unassign'>[],
): Promise<void> {
  const labels = await simLabels(
    tx,
    tickets.map(({ simId }) => simId),
  )
  await insertEvents(
    tx,
    tickets.map((ticket) => {
      const label = labels.get(ticket.simId) ?? String(ticket.simId)
      return {
        type: EventType.Connectivity,
        severity: EventSeverity.Info,
        title: `${titleOf(ticket)} cancelled: SIM ${label}`,
        description: `Ticket ${ticket.id} on SIM ${label} was cancelled while it was pending.`,
      }
    }),
  )
}
