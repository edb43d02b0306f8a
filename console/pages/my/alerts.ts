/** Alerts, as a contact reads them: in words, without links to the pages of operators. */
import { html } from 'hono/html'
import type { Alert, AlertQuery } from '../../../domain/alerts/alert.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { listEnd, nextCursor } from '../../parts/list.ts'
import { ago, levelMark, logRow } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { phaseBadge, subjectWords, withheldWords } from '../alerts/marks.ts'

const MOST_ROWS = 50

export async function alertsPage(
  { inside }: Calls,
  { id: tenantId }: PageTenant,
  { ended = false, cursor }: Pick<AlertQuery, 'ended' | 'cursor'>,
  now: number,
): Promise<Html> {
  const query = { ended, pageSize: MOST_ROWS, ...(cursor !== undefined && { cursor }) }
  const listing = inside.GET('/internal/alerts', { params: { query } })
  const { data } = await mustAnswer(listing)
  const path = `/t/${tenantId}/my/alerts`
  const others = ended
    ? html`<a href="${path}">Those that have not ended</a>`
    : html`<a href="${path}?ended=true">Those that have ended</a>`
  const part = {
    noun: 'alerts',
    shown: data.length,
    most: MOST_ROWS,
    empty: html`<p class="empty">${ended ? 'None is kept.' : 'None: nothing is wrong.'}</p>`,
  }
  return html`<div class="head"><div>
<h1>${ended ? 'Ended alerts' : 'Alerts'}</h1>
<p class="lead">${others}</p>
</div></div>
${
  data.length === 0
    ? ''
    : html`<div class="panel"><ul class="log">
${data.map((alert) => row(alert, now))}
</ul></div>`
}
${listEnd(path, { ended: ended || undefined }, nextCursor((await listing).response), part)}`
}

const row = (alert: Alert, now: number): Html => {
  const { level, message, rule, subject, since, isMailed } = alert
  const told = isMailed ? ', mailed' : withheldWords(alert).map((one) => html`, ${one}`)
  return logRow(
    levelMark(level),
    html`<bdi>${message ?? rule}</bdi>
<small>${phaseBadge(alert)} ${subjectWords(subject)}, rule <bdi>${rule}</bdi>${told}</small>`,
    ago(since, now),
  )
}
