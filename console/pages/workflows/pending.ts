/** Activities, code and children of a running workflow at Temporal, and what keeps it from going on. */
import { html } from 'hono/html'
import { count } from '../../../domain/quantity.ts'
import { isRetrying } from '../../../domain/workflows/run-view.ts'
import type { WorkflowPending } from '../../../domain/workflows/workflow.ts'
import type { Html } from '../../parts/html.ts'
import { ahead, line, notice, often } from '../../parts/marks.ts'
import { faultWords, nameWords } from './fields.ts'
import { workflowLink } from './marks.ts'

/** As sentences. */
export function troubles(pending: WorkflowPending, now: number): Html {
  const { workers, task, activities } = pending
  const failing = activities.find(({ attempt }) => attempt > 1)
  const fault = failing?.lastFailure ?? task?.lastFailure
  const what = failing === undefined ? 'Its own code' : `Activity ${nameWords(failing.type).toLowerCase()}`
  const failed = often((failing?.attempt ?? task?.attempt ?? 1) - 1)
  const next = failing?.nextAttemptAt == null ? '' : html` Next try ${ahead(failing.nextAttemptAt, now)}.`
  const words = html`<strong>Retrying.</strong> ${what} has failed ${failed}${fault == null ? '' : html`: ${faultWords(fault)}`}.${next}`
  return html`
${workers > 0 ? '' : notice('critical', 'critical', html`<strong>No worker is running: nothing goes on.</strong> <code>simherd worker</code> starts one.`)}
${isRetrying(pending) ? notice('warning', 'refresh', words) : ''}`
}

const MOST = 20

export function pendingList(tenantId: string, { task, activities, children }: WorkflowPending, now: number): Html {
  const rows = [
    ...(task === null ? [] : [line('next', `Its own code: attempt ${count(task.attempt)}`)]),
    ...activities.map((one) => activityLine(one, now)),
    ...children.map(({ workflowId: id }) => line('workflow', html`${workflowLink(tenantId, id)}<small>${id}</small>`)),
  ]
  if (rows.length === 0) return html`<p class="empty">Nothing: it only waits.</p>`
  return html`<ul class="log">${rows.slice(0, MOST)}</ul>
${rows.length > MOST ? html`<p class="empty">The first of ${count(rows.length)}.</p>` : ''}`
}

function activityLine(activity: WorkflowPending['activities'][number], now: number): Html {
  const { type, attempt, status, nextAttemptAt, lastFailure } = activity
  const begins = nextAttemptAt === null ? 'waits for a worker' : html`begins ${ahead(nextAttemptAt, now)}`
  const why = lastFailure === null ? '' : html`<small>${faultWords(lastFailure)}</small>`
  const words = html`${nameWords(type)}: attempt ${count(attempt)} ${status === 'running' ? 'is under way' : begins}${why}`
  return line(attempt > 1 ? 'refresh' : 'next', words)
}
