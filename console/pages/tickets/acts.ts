/** The act on a ticket: cancel it. */
import { html } from 'hono/html'
import { labelOf, TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { TicketDetail } from '../../../domain/tickets/ticket.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { ago } from '../../parts/marks.ts'
import { simName, typeWords } from './marks.ts'

/** @throws ServiceError `ticket_not_found`, `forbidden` */
export const readTicket = (calls: Calls, id: string): Promise<TicketDetail> =>
  mustAnswer(calls.inside.GET('/internal/tickets/{id}', { params: { path: { id } } }))

/** The effect that a cancelled ticket does not have. */
const LEFT_UNDONE: Readonly<Record<TicketType, string>> = {
  [TicketType.Activate]: 'The SIM is not brought back',
  [TicketType.Suspend]: 'The SIM is not suspended',
  [TicketType.Provision]: 'Pool, tariff and tag of the SIM stay as they are',
  [TicketType['Send SMS']]: 'The SMS is not sent',
  [TicketType.Refresh]: 'The SIM does not reconnect',
}

/** Effects of the cancellation on its author. Source: docs/workflows.md; service/tickets/change-outcome.ts. */
function followUp({ type, cause }: TicketDetail): readonly (readonly [string, string])[] {
  switch (cause.by) {
    case 'user':
      return []
    case 'watchdog':
      return type === TicketType.Suspend
        ? [['Watchdog', 'No rule suspends it again in this billing cycle.']]
        : [['Watchdog', 'It stays suspended until a person brings it back.']]
    case 'workflow':
      return [['Workflow', 'It learns of it. One that provisions a SIM undoes what it had done.']]
    case 'month-end':
      return [['Month end', 'It is logged as failed. A change that was queued stays so.']]
  }
}

/** The act that opens such a ticket, on the page of the SIM. Internal requests alone open others. */
const REOPENERS: Readonly<Partial<Record<TicketType, string>>> = {
  [TicketType.Activate]: 'Bring back',
  [TicketType.Suspend]: 'Suspend',
  [TicketType['Send SMS']]: 'Send an SMS',
  [TicketType.Refresh]: 'Refresh its connection',
}
const reopener = (ticket: TicketDetail): Html => {
  const act = REOPENERS[ticket.type]
  return act === undefined
    ? html`<code>POST /internal/tickets/${typeWords(ticket).toLowerCase()}</code>`
    : html`<em>${act}</em>, on the page of the SIM`
}

const cancel: Act<TicketDetail, string> = {
  noun: 'tickets',
  name: 'cancel',
  label: 'Cancel',
  icon: 'no',
  read: readTicket,
  confirm: (ticket, now) => ({
    of: typeWords(ticket),
    question: 'Cancel this ticket?',
    button: 'Cancel the ticket',
    back: 'Keep it',
    facts: [
      ['Ticket', html`${typeWords(ticket)}, opened ${ago(ticket.created, now)}`],
      ['SIM', html`<bdi>${simName(ticket)}</bdi>`],
      ['Then', `${LEFT_UNDONE[ticket.type]}: the carrier is not asked. The SIM's other tickets go on.`],
      ...followUp(ticket),
      ['Taken back', html`By a new ticket, behind the SIM's others: ${reopener(ticket)}.`],
    ],
    ...(ticket.status !== TicketStatus.Pending && {
      warning: html`<strong>It is ${labelOf(TicketStatus, ticket.status)}:</strong> only a pending ticket can be cancelled.`,
    }),
  }),
  send: async ({ inside }, { id }) => {
    const params = { path: { id } }
    const answer = await inside.DELETE('/internal/tickets/{id}', { params })
    if (answer.response.ok) return answer
    // The interface refuses it a second time. A form that is sent again has had its effect.
    const now = await inside.GET('/internal/tickets/{id}', { params })
    return now.data?.status === TicketStatus.Cancelled ? now : answer
  },
  done: 'It is cancelled: the carrier is not asked.',
}

/** Acts with an effect on a ticket in its present state. */
export const actsOn = ({ status }: TicketDetail): Act<TicketDetail, string>[] =>
  status === TicketStatus.Pending ? [cancel] : []

export const TICKET_ACTS = [cancel]
