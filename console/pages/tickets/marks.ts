/** Words and marks of tickets, for their list and pages. */
import { html } from 'hono/html'
import { labelOf, TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { Cause, TicketDetail } from '../../../domain/tickets/ticket.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { ahead, badge, often } from '../../parts/marks.ts'
import { cycleLink } from '../month/marks.ts'
import { workflowLink } from '../workflows/marks.ts'

/** Icons and tones. */
export const STATUSES: Readonly<Record<TicketStatus, readonly [IconName, string]>> = {
  [TicketStatus.Pending]: ['stock', 'quiet'],
  [TicketStatus.Processing]: ['next', 'quiet'],
  [TicketStatus.Complete]: ['active', 'good'],
  [TicketStatus.Failed]: ['critical', 'critical'],
  [TicketStatus.Cancelled]: ['no', 'quiet'],
}
export const ticketBadge = ({ status }: TicketDetail): Html => {
  const [name, tone] = STATUSES[status]
  return badge(tone, labelOf(TicketStatus, status), name)
}

export const typeWords = ({ type, provisioningInfo }: Pick<TicketDetail, 'type' | 'provisioningInfo'>): string =>
  provisioningInfo?.pendingUnassign === true ? 'Unassign' : labelOf(TicketType, type)

/** The name of its SIM. */
export const simName = ({ tag, iccid }: Pick<TicketDetail, 'tag' | 'iccid'>): string => tag || iccid

export const simLink = (tenantId: string, ticket: TicketDetail): Html =>
  html`<a href="/t/${tenantId}/sims/${ticket.simId}"><bdi>${simName(ticket)}</bdi></a>`

/** The author, to stand behind `by`. A rule leads to its alerts. */
export function causeWords(tenantId: string, cause: Cause): Html | string {
  switch (cause.by) {
    case 'user':
      return 'a person'
    case 'watchdog': {
      if (cause.rule === null) return 'a person, through the watchdog'
      const alerts = `/t/${tenantId}/alerts?${new URLSearchParams({ rule: cause.rule }).toString()}`
      return html`rule <a href="${alerts}"><bdi>${cause.rule}</bdi></a>`
    }
    case 'workflow':
      return html`workflow ${workflowLink(tenantId, cause.workflowId)}`
    case 'month-end':
      return html`the month end of ${cycleLink(tenantId, cause.cycle)}`
  }
}

export const isLater = (at: string | null, now: number): at is string => at !== null && Date.parse(at) > now

/** How far an open ticket is. */
export function progressWords({ status, attempts, nextAttemptAt }: TicketDetail, now: number): Html | string {
  if (isLater(nextAttemptAt, now))
    return html`${attempts === 0 ? 'Not tried yet' : `Tried ${often(attempts)}`}, next ${ahead(nextAttemptAt, now)}`
  return status === TicketStatus.Pending ? 'Waits for its turn' : `Attempt ${attempts} is under way`
}
