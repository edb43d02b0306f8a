/** The page of a ticket: its course, failure, cause and target. */
import { html } from 'hono/html'
import { labelOf, TicketStatus } from '../../../domain/codes.ts'
import { counted } from '../../../domain/quantity.ts'
import type { Cause, TicketDetail } from '../../../domain/tickets/ticket.ts'
import { dataOf, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { ago, ahead, facts, grouped, line, often, panel } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { poolLink } from '../pools/marks.ts'
import { workflowLink } from '../workflows/marks.ts'
import { actsOn } from './acts.ts'
import { causeWords, isLater, progressWords, STATUSES, simLink, ticketBadge, typeWords } from './marks.ts'

type Facts = readonly (readonly [string, Html | string])[]

/** @param said notice of an act just before */
export async function ticketPage(
  calls: Calls,
  { id: tenantId }: PageTenant,
  ticket: TicketDetail,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const path = `/t/${tenantId}/tickets`
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${path}">Tickets</a> / <a href="${path}?simId=${ticket.simId}">of this SIM</a></p>
<h1><span>${typeWords(ticket)} ${simLink(tenantId, ticket)}</span> ${ticketBadge(ticket)}</h1>
<p class="lead">${verdict(ticket, now)}</p>
</div>
${actLinks(`${path}/${ticket.id}`, actsOn(ticket))}
</div>
${said}
<div class="columns">
<div>
${ticket.failureText === null ? '' : panel({ title: ticket.finishedAt === null ? 'Last attempt' : 'Failure', id: 'failure' }, facts(failureOf(ticket)))}
${panel({ title: 'Course', id: 'course' }, html`<ol class="log">${course(tenantId, ticket, now)}</ol>`)}
</div>
<div>
${panel({ title: 'Ticket', id: 'ticket' }, facts(identityOf(tenantId, ticket, await targetOf(calls, tenantId, ticket))))}
</div>
</div>`
}

function verdict(ticket: TicketDetail, now: number): Html {
  const { status, attempts, finishedAt } = ticket
  switch (status) {
    case TicketStatus.Pending:
      return html`${progressWords(ticket, now)}: the carrier has done nothing yet.`
    case TicketStatus.Processing:
      return html`${progressWords(ticket, now)}. Other tickets of the SIM wait until it has ended.`
    case TicketStatus.Complete:
      return html`Carried out ${ago(finishedAt, now)}.`
    case TicketStatus.Failed:
      return html`Failed ${ago(finishedAt, now)}, ${attempts === 0 ? 'before the carrier was asked' : `after ${counted(attempts, 'attempt')}`}. It is not tried again: open a new one if it is still needed.`
    case TicketStatus.Cancelled:
      return html`Cancelled ${ago(finishedAt, now)}: the carrier has done nothing.`
  }
}

const failureOf = ({ failureText, failureCode, failureDetail }: TicketDetail): Facts =>
  [['Reason', failureText] as const, ['Code', failureCode] as const, ['In full', failureDetail] as const].flatMap(
    ([name, words]) => (words === null ? [] : [[name, html`<bdi>${words}</bdi>`] as const]),
  )

function course(tenantId: string, ticket: TicketDetail, now: number): Html[] {
  const { created, cause, status, attempts, nextAttemptAt, finishedAt, withdrawnBy } = ticket
  const by = withdrawnBy === null ? '' : html`<small>by <bdi>${withdrawnBy}</bdi></small>`
  return [
    line('ticket', html`Opened by ${causeWords(tenantId, cause)}`, ago(created, now)),
    ...(attempts === 0 ? [] : [line('signal', `The carrier was asked ${often(attempts)}`)]),
    ...(isLater(nextAttemptAt, now) ? [line('next', 'The next attempt', ahead(nextAttemptAt, now))] : []),
    ...(finishedAt === null
      ? []
      : [line(STATUSES[status][0], html`${labelOf(TicketStatus, status)}${by}`, ago(finishedAt, now))]),
  ]
}

const identityOf = (tenantId: string, ticket: TicketDetail, target: Facts): Facts => [
  ['Type', typeWords(ticket)],
  ...target,
  ['ICCID', grouped(ticket.iccid)],
  ['Asked by', causeWords(tenantId, ticket.cause)],
  ...reasonOf(tenantId, ticket.cause),
  ...(ticket.bulkId === null
    ? []
    : [['Bulk run', html`<a href="/t/${tenantId}/bulk/${ticket.bulkId}">With other SIMs</a>`] as const]),
  ['Id', ticket.id],
]

function reasonOf(tenantId: string, cause: Cause): Facts {
  const workflow =
    'workflowId' in cause
      ? ([['Workflow', workflowLink(tenantId, cause.workflowId, html`<bdi>${cause.workflowId}</bdi>`)]] as const)
      : []
  if (cause.by !== 'watchdog') return workflow
  const until = cause.until === 'renewal' ? 'The next billing cycle begins' : 'A person acts'
  return [['Cycle', html`<bdi>${cause.cycle}</bdi>`], ['Until', until], ...workflow]
}

/** The target of the SIM, as facts. */
async function targetOf({ outside }: Calls, tenantId: string, { provisioningInfo }: TicketDetail): Promise<Facts> {
  if (provisioningInfo === null) return []
  const { pendingPoolId, pendingTariffId, pendingUnassign, pendingTag } = provisioningInfo
  if (pendingUnassign) return [['To pool', 'none']]
  const [pool, tariff] = await Promise.all([
    pendingPoolId === null
      ? null
      : tryAnswer(outside.GET('/api/pools/{id}', { params: { path: { id: pendingPoolId } } })),
    pendingTariffId === null
      ? null
      : tryAnswer(outside.GET('/api/tariffs/{id}', { params: { path: { id: pendingTariffId } } })),
  ])
  return [
    ['To pool', pendingPoolId === null ? 'none' : poolLink(tenantId, pendingPoolId, dataOf(pool)?.name)],
    [
      'To tariff',
      pendingTariffId === null ? 'none' : html`<bdi>${dataOf(tariff)?.displayName ?? pendingTariffId}</bdi>`,
    ],
    ...(pendingTag === null ? [] : [['New tag', html`<bdi>${pendingTag}</bdi>`] as const]),
  ]
}
