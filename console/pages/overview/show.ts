/** The overview of a tenant: a verdict, its needs, figures, pools, usage, log. The order is the message. */
import { html } from 'hono/html'
import type { WatchdogLogEntry } from '../../../domain/alerts/watchdog-log-entry.ts'
import { instant } from '../../../domain/local-time.ts'
import type { Pool } from '../../../domain/pools/pool.ts'
import { count, counted, duration, megabytes } from '../../../domain/quantity.ts'
import { MB } from '../../../domain/units.ts'
import type { TenantStatus } from '../../../domain/watchdog/status.ts'
import { dataOf, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { ago, levelMark, logRow, panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { readUsage, usageChart } from '../../parts/usage.ts'
import { NO_POOL, poolTable } from '../pools/marks.ts'
import { linesOf } from './log.ts'
import { levelsWords, type Need, needsOf, type Situation, verdictOf } from './needs.ts'

const MOST_NEEDS = 9
const MOST_POOLS = 8
const POOLS_READ = 100
const MOST_LINES = 8
const ENTRIES_READ = 50

/** @param now epoch milliseconds */
export async function overviewPage(calls: Calls, tenant: PageTenant, now: number): Promise<Html> {
  const { outside, inside } = calls
  const begin = async () => {
    const status = await tryAnswer(inside.GET('/internal/status'))
    const cycle = dataOf(status)?.cycle
    return { status, usage: cycle === undefined ? null : await readUsage(calls, {}, cycle) }
  }
  const [{ status, usage }, causes, holds, pools, log] = await Promise.all([
    begin(),
    tryAnswer(inside.GET('/internal/alerts/causes')),
    tryAnswer(inside.GET('/internal/enforcement/holds', { params: { query: { state: 'held' } } })),
    tryAnswer(outside.GET('/api/pools', { params: { query: { pageSize: POOLS_READ } } })),
    tryAnswer(outside.GET('/api/watchdog/logs', { params: { query: { pageSize: ENTRIES_READ } } })),
  ])
  const path = `/t/${tenant.id}`
  const [figures, found] = [dataOf(status), dataOf(causes)]
  const situation: Situation = {
    holds: dataOf(holds)?.data ?? [],
    causes: found?.causes ?? [],
    status: figures ?? null,
  }
  const unread = [status, causes, holds].flatMap((part) => (part !== null && 'missing' in part ? [part.missing] : []))
  return html`${heading(tenant, { status, situation, unread })}
${status === null ? '' : needsPanel(path, needsOf(situation), unread, now)}
${figures === undefined ? '' : figuresPanel(figures, now)}
<div class="columns">
<div>
${panelOf({ title: 'Pools', id: 'pools', note: 'fullest first' }, pools, ({ data, pagination }) => fullest(tenant.id, data, pagination.totalItems))}
${panelOf({ title: 'Log', id: 'log', note: 'newest first' }, log, ({ data }) => logList(path, data, now))}
</div>
<div>
${panelOf({ title: 'Usage', id: 'usage', note: 'of all SIMs, this cycle' }, usage, usageChart)}
</div>
</div>`
}

interface Read {
  readonly status: Part<TenantStatus>
  readonly situation: Situation
  /** Why parts could not be read. */
  readonly unread: readonly string[]
}

/** A verdict needs all that it rests on. Keys of tenants may not see that: they get a name. */
function heading({ name }: PageTenant, { status, situation, unread }: Read): Html {
  if (status === null) return html`<div class="head"><h1><bdi>${name}</bdi></h1></div>`
  const [figures, verdict] = [dataOf(status), verdictOf(situation)]
  const isKnown = unread.length === 0 || verdict.tone === 'critical'
  const {
    tone,
    icon: picture,
    words,
  } = isKnown
    ? verdict
    : { tone: 'critical', icon: 'critical' as const, words: 'Whether anything is wrong cannot be read' }
  return html`<div class="head verdict">
<span class="mark ${tone}">${icon(picture)}</span>
<div>
<h1>${words}</h1>
${figures === undefined ? '' : html`<p class="lead">Open alerts: ${levelsWords(figures.alerts)}. ${figures.enforcementEnabled ? 'Enforcement is on.' : 'Enforcement is stopped.'}</p>`}
</div>
</div>`
}

function needsPanel(path: string, needs: readonly Need[], unread: readonly string[], now: number): Html {
  const more = needs.length - MOST_NEEDS
  return panel({ title: 'Needs you', id: 'needs' }, [
    html`${unread.map((why) => html`<p class="missing">A part cannot be read. ${why}</p>`)}`,
    needs.length > 0
      ? html`<ul class="log">${needs.slice(0, MOST_NEEDS).map((need) => needLine(path, need, now))}</ul>`
      : unread.length > 0
        ? html``
        : html`<p class="empty">Nothing: no alert is open, nothing has failed, no decision waits.</p>`,
    more <= 0 ? html`` : html`<p><a href="${path}/alerts">${count(more)} more among the alerts</a></p>`,
  ])
}

function needLine(path: string, { icon: name, tone, words, detail, path: below, since }: Need, now: number): Html {
  const title = html`<strong><bdi>${words}</bdi></strong>`
  return logRow(
    html`<span class="mark ${tone}">${icon(name)}</span>`,
    html`${below === null ? title : html`<a href="${path}${below}">${title}</a>`}
${detail === '' ? '' : html`<small><bdi>${detail}</bdi></small>`}`,
    since === null ? '' : ago(since, now),
  )
}

function figuresPanel({ sims, usage, cycle, feed }: TenantStatus, now: number): Html {
  const used = megabytes(usage.bytes / MB)
  const left = Math.max(0, Date.parse(cycle.endsAt) - now)
  const all = sims.active + sims.suspended + sims.unprovisioned
  return html`<dl class="figures panel">
${figure('Active SIMs', count(sims.active), `of ${count(all)}, ${count(sims.suspended)} suspended`)}
${figure('Used this cycle', used, `${counted(usage.smsCount, 'SMS', 'SMS')}, ${duration(usage.voiceSeconds * 1000)} of voice`)}
${figure('Usage came in', ago(feed.receivedAt, now), feed.newestAt === null ? 'no record yet' : `newest record of ${instant(feed.newestAt)}`)}
${figure('Cycle ends in', duration(left), instant(cycle.endsAt))}
</dl>`
}

const figure = (name: string, value: Html | string, detail: string): Html => html`
<div><dt>${name}</dt><dd><span class="figure">${value}</span><small>${detail}</small></dd></div>`

/** Usage by its limit. Any usage of a pool without a limit is more than all of it. */
const fullness = ({ usageMB, limitMB }: Pool): number =>
  limitMB > 0 ? usageMB / limitMB : usageMB > 0 ? Number.POSITIVE_INFINITY : 0

function fullest(tenantId: string, pools: readonly Pool[], total: number): Html {
  if (pools.length === 0) return NO_POOL
  const shown = pools.toSorted((a, b) => fullness(b) - fullness(a) || a.id - b.id).slice(0, MOST_POOLS)
  return html`${poolTable(tenantId, shown)}
${total > pools.length ? html`<p class="empty">Of the first ${count(pools.length)} of ${count(total)} pools.</p>` : ''}
${total > shown.length ? html`<p><a href="/t/${tenantId}/pools">All ${count(total)} pools</a></p>` : ''}`
}

const logList = (path: string, log: readonly WatchdogLogEntry[], now: number): Html =>
  log.length === 0
    ? html`<p class="empty">No entry yet.</p>`
    : html`<ol class="log">
${linesOf(log)
  .slice(0, MOST_LINES)
  .map(({ entry: { level, message, simId, poolId, date }, times }) => {
    const about = simId !== null ? `sims/${simId}` : poolId !== null ? `pools/${poolId}` : null
    const words =
      about === null ? html`<bdi>${message}</bdi>` : html`<a href="${path}/${about}"><bdi>${message}</bdi></a>`
    const often = times === 1 ? '' : html` <small>${counted(times, 'time')}</small>`
    return logRow(levelMark(level), html`${words}${often}`, ago(date, now))
  })}
</ol>`
