/** The page of a SIM: state and cause, alerts, usage, rules, log, identity. */
import { html } from 'hono/html'
import { labelOf, SimType, WatchdogMode } from '../../../domain/codes.ts'
import type { SimEnforcement } from '../../../domain/enforcement/enforcement.ts'
import { instant } from '../../../domain/local-time.ts'
import { count, duration, megabytes, ofLimit } from '../../../domain/quantity.ts'
import type { Sim } from '../../../domain/sims/sim.ts'
import { dataOf, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { ago, entryList, facts, grouped, logRow, meter, panel, panelOf, statusBadge } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { ruleTable } from '../../parts/rules.ts'
import { readCycleUsage, usageChart } from '../../parts/usage.ts'
import { alertList } from '../alerts/marks.ts'
import { poolLink } from '../pools/marks.ts'
import { workflowLink } from '../workflows/marks.ts'
import { actsOn } from './acts.ts'
import { thresholdWords } from './marks.ts'
import { moreActsOn, queuedWords, type Seen } from './more-acts.ts'

const MOST_ENTRIES = 10

/** @param said notice of an act just before */
export async function simPage(
  calls: Calls,
  tenant: PageTenant,
  sim: Sim,
  { now, said, ...seen }: { readonly now: number; readonly said: Html | '' } & Pick<Seen, 'isOperator' | 'seesCodes'>,
): Promise<Html> {
  const { outside, inside } = calls
  const path = { id: sim.id }
  const [{ cycle, series }, enforcement, explanation, alerts, log, pool] = await Promise.all([
    readCycleUsage(calls, { simId: sim.id }, now),
    tryAnswer(inside.GET('/internal/sims/{id}/enforcement', { params: { path } })),
    tryAnswer(inside.GET('/internal/rules/explain', { params: { query: { simId: sim.id } } })),
    tryAnswer(inside.GET('/internal/alerts', { params: { query: { simId: sim.id } } })),
    tryAnswer(outside.GET('/api/sims/{id}/watchdog-logs', { params: { path, query: { pageSize: MOST_ENTRIES } } })),
    sim.poolId === null ? null : tryAnswer(outside.GET('/api/pools/{id}', { params: { path: { id: sim.poolId } } })),
  ])
  const poolWords = sim.poolId === null ? 'none' : poolLink(tenant.id, sim.poolId, dataOf(pool)?.name)
  const isSpared = dataOf(enforcement)?.passedOver ?? false
  const { isOperator } = seen
  const more = moreActsOn(sim, { ...seen, isSpared })
  return html`<div class="head">
<div>
<p class="crumbs"><a href="/t/${tenant.id}/sims">SIMs</a></p>
<h1><bdi>${sim.tag || grouped(sim.iccid)}</bdi> ${statusBadge(sim.status)}</h1>
${sim.tag === '' ? '' : html`<p class="lead">${grouped(sim.iccid)}</p>`}
</div>
${actLinks(`/t/${tenant.id}/sims/${sim.id}`, actsOn(sim))}
</div>
${said}
${suspension(tenant.id, enforcement, now, cycle?.endsAt)}
<div class="columns">
<div>
${panelOf({ title: 'Alerts', id: 'alerts', note: 'not ended' }, alerts, ({ data }) => alertList(tenant.id, data, now))}
${panelOf({ title: 'Usage', id: 'usage', note: 'this cycle' }, series, usageChart)}
${panelOf({ title: 'Rules', id: 'rules' }, explanation, ({ rules }) => ruleTable(rules.filter((one) => one.isAttached)))}
${panelOf({ title: 'Log', id: 'log', note: 'newest first' }, log, ({ data }) => entryList(data, now))}
</div>
<div>
${thisCycle(sim)}
${panel({ title: 'Identity', id: 'identity' }, facts([...identityOf(sim, { pool: poolWords, isSpared, now }), ['Tickets', ticketWords(tenant.id, sim, isOperator)]]))}
${more.length === 0 && !isOperator ? '' : panel({ title: 'More', id: 'more' }, moreLines(tenant.id, sim.id, more, isOperator))}
</div>
</div>`
}

function moreLines(tenantId: string, id: number, acts: ReturnType<typeof moreActsOn>, isOperator: boolean): Html {
  const path = `/t/${tenantId}/sims/${id}`
  return html`<ul class="log">
${isOperator ? logRow(icon('history'), html`<a href="${path}/history">History</a>`) : ''}
${isOperator ? logRow(icon('workflow'), html`<a href="/t/${tenantId}/workflows?simId=${id}">Workflows of this SIM</a>`) : ''}
${acts.map(({ name, label, icon: picture }) => logRow(icon(picture), html`<a href="${path}/${name}">${label}…</a>`))}
</ul>`
}

/** Why it is suspended, and how it comes back. */
function suspension(
  tenantId: string,
  enforcement: Part<SimEnforcement>,
  now: number,
  renewal: string | undefined,
): Html | '' {
  const found = dataOf(enforcement)?.suspension
  if (found == null) return ''
  const since = ago(found.openedAt, now)
  const cause =
    found.cause === 'user'
      ? html`<strong>Suspended by a person</strong> ${since}.`
      : html`<strong>Suspended by the watchdog</strong> ${since}, by rule <bdi>${found.rule ?? 'unknown'}</bdi>.`
  const end =
    found.until === 'renewal'
      ? `It comes back by itself when the next cycle begins${renewal === undefined ? '' : `, at ${instant(renewal)}`}.`
      : 'It stays so until a person acts.'
  return html`<p class="notice warning">${icon('suspended')} <span>${cause} ${end}${found.workflowId === null ? '' : html` ${workflowLink(tenantId, found.workflowId, 'Its workflow')}`}</span></p>`
}

const thisCycle = (sim: Sim): Html => {
  return panel({ title: 'This cycle', id: 'cycle' }, [
    html`<div class="inset">${meter(sim.usageMB, sim.limitMB)}</div>`,
    facts([
      ['Used', ofLimit(sim.usageMB, sim.limitMB)],
      ['Overage', sim.isOverage ? html`<span class="critical">${megabytes(sim.overageMB)}</span>` : 'none'],
      ['Warns at', thresholdWords(sim)],
      ['SMS, voice', `${count(sim.smsCount)} · ${duration(sim.voiceMins * 60_000)}`],
    ]),
  ])
}

const known = (value: string): Html | string => (value === '' ? html`<span class="mute">not seen</span>` : value)

const watchdogWords = (sim: Sim, isSpared: boolean): string =>
  sim.isWatchdogExempt
    ? 'exempt'
    : `${labelOf(WatchdogMode, sim.watchdogMode)}${isSpared ? ', suspends it no more in this cycle' : ''}`

interface Around {
  readonly pool: Html | string
  /** Whether a person has ended enforcement for this cycle. */
  readonly isSpared: boolean
  readonly now: number
}

const identityOf = (sim: Sim, { pool, isSpared, now }: Around): (readonly [string, Html | string])[] => [
  ['IMSI', known(sim.imsi)],
  ['MSISDN', known(sim.msisdn)],
  ['IMEI', known(sim.imei)],
  ['Type', labelOf(SimType, sim.type)],
  ['Pool', pool],
  ['Tariff', 'displayName' in sim.tariff ? html`<bdi>${sim.tariff.displayName}</bdi>` : 'none'],
  ...queuedWords(sim),
  ['Watchdog', watchdogWords(sim, isSpared)],
  ['Last seen', ago(sim.lastSeenAt, now)],
  ['Provisioned', ago(sim.provisionedAt, now, 'not yet')],
]

/** @param isOperator other keys have no page of tickets */
const ticketWords = (tenantId: string, { id, processingTicketCount: open }: Sim, isOperator: boolean): Html =>
  html`${open === 0 ? 'none open' : `${count(open)} open`}${isOperator ? html` · <a href="/t/${tenantId}/tickets?simId=${id}">All of this SIM</a>` : ''}`
