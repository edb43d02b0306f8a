/** The page of a pool: alerts, usage, its largest SIMs, rules, log, settings. */
import { html } from 'hono/html'
import { labelOf, SimStatus, TariffType } from '../../../domain/codes.ts'
import type { EnforcementSettings } from '../../../domain/enforcement/guard.ts'
import type { LargestSim } from '../../../domain/pools/largest-sims.ts'
import type { Pool } from '../../../domain/pools/pool.ts'
import { count, counted, duration, megabytes, ofLimit, percent } from '../../../domain/quantity.ts'
import { capital } from '../../../domain/text.ts'
import { type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { entryList, facts, meter, panel, panelOf, statusBadge } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { ruleTable } from '../../parts/rules.ts'
import { readCycleUsage, usageChart } from '../../parts/usage.ts'
import { alertList } from '../alerts/marks.ts'
import { nameCell } from '../sims/marks.ts'
import { burnRateWords, POOL_ACTS, thresholdWords } from './acts.ts'
import { MODE_WORDS, modeBadge, overWords, poolWords } from './marks.ts'

const MOST_ENTRIES = 10
const MOST_SIMS = 10

/** @param said notice of an act just before */
export async function poolPage(
  calls: Calls,
  tenant: PageTenant,
  pool: Pool,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const { outside, inside } = calls
  const path = { id: pool.id }
  const query = { poolId: pool.id }
  const [{ series }, largest, enforcement, explanation, alerts, log] = await Promise.all([
    readCycleUsage(calls, query, now),
    tryAnswer(inside.GET('/internal/pools/{id}/largest-sims', { params: { path, query: { limit: MOST_SIMS } } })),
    tryAnswer(inside.GET('/internal/tenant/enforcement')),
    tryAnswer(inside.GET('/internal/rules/explain', { params: { query } })),
    tryAnswer(inside.GET('/internal/alerts', { params: { query } })),
    tryAnswer(outside.GET('/api/pools/{id}/watchdog-logs', { params: { path, query: { pageSize: MOST_ENTRIES } } })),
  ])
  const sims = `/t/${tenant.id}/sims`
  return html`<div class="head">
<div>
<p class="crumbs"><a href="/t/${tenant.id}/pools">Pools</a></p>
<h1><bdi>${pool.name}</bdi> ${modeBadge(pool.watchdogMode)}${pool.isOverage ? html` <span class="badge critical">${capital(overWords(pool))}</span>` : ''}</h1>
<p class="lead"><a href="${sims}?poolId=${pool.id}">${poolWords(pool)}</a></p>
</div>
${actLinks(`/t/${tenant.id}/pools/${pool.id}`, POOL_ACTS)}
</div>
${said}
<div class="columns">
<div>
${panelOf({ title: 'Alerts', id: 'alerts', note: 'of the pool itself, not ended' }, alerts, ({ data }) => alertList(tenant.id, data, now))}
${panelOf({ title: 'Usage', id: 'usage', note: 'this cycle' }, series, usageChart)}
${panelOf({ title: 'Largest SIMs', id: 'largest', note: 'by data used in the pool, this cycle' }, largest, (found) => largestSims(sims, pool, found.sims))}
${panelOf({ title: 'Rules', id: 'rules' }, explanation, ({ rules }) => ruleTable(rules.filter((one) => one.isAttached)))}
${panelOf({ title: 'Log', id: 'log', note: 'newest first' }, log, ({ data }) => entryList(data, now))}
</div>
<div>
${thisCycle(pool, sims)}
${panel({ title: 'Settings', id: 'settings' }, facts(settingsOf(tenant.id, pool, enforcement)))}
</div>
</div>`
}

const largestSims = (path: string, { id, usageMB, totalSimCount }: Pool, sims: readonly LargestSim[]): Html => html`
${sims.length === 0 ? html`<p class="empty">No SIM has used data in it.</p>` : simTable(path, usageMB, sims)}
${totalSimCount === 0 ? '' : html`<p><a href="${path}?poolId=${id}">All SIMs of the pool</a></p>`}`

const simTable = (path: string, poolMB: number, sims: readonly LargestSim[]): Html => html`<table>
<thead><tr><th scope="col">SIM</th><th scope="col" class="wide">Status</th><th scope="col" class="wide bars">Of the pool's</th><th scope="col" class="number">Used</th></tr></thead>
<tbody>
${sims.map(
  (sim) => html`<tr id="sim-${sim.id}">
${nameCell(path, sim)}
<td class="wide">${statusBadge(sim.status)}</td>
<td class="wide">${meter(sim.usageMB, poolMB)}</td>
<td class="number">${megabytes(sim.usageMB)}<small>${percent(sim.sharePct)}</small>${sim.isInPool ? '' : html`<small>left the pool</small>`}</td>
</tr>`,
)}
</tbody>
</table>`

const thisCycle = (pool: Pool, sims: string): Html => {
  const { usageMB, limitMB, remainingMB, overageMB, isOverage, smsCount, voiceMins, daysUntilRenewal } = pool
  const suspended = pool.totalSimCount - pool.activeSimCount
  return panel({ title: 'This cycle', id: 'cycle' }, [
    html`<div class="inset">${meter(usageMB, limitMB)}</div>`,
    facts([
      ['Used', ofLimit(usageMB, limitMB)],
      ['Left', megabytes(remainingMB)],
      ['Overage', isOverage ? html`<span class="critical">${megabytes(overageMB)}, ${overWords(pool)}</span>` : 'none'],
      ['SMS, voice', `${count(smsCount)} · ${duration(voiceMins * 60_000)}`],
      [
        'Suspended',
        suspended === 0
          ? 'none'
          : html`<a href="${sims}?poolId=${pool.id}&status=${SimStatus.Suspended}">${counted(suspended, 'SIM')}</a>`,
      ],
      ['Next cycle', `in ${counted(daysUntilRenewal, 'day')}`],
    ]),
  ])
}

const settingsOf = (
  tenantId: string,
  pool: Pool,
  enforcement: Part<EnforcementSettings>,
): (readonly [string, Html | string])[] => [
  ['Tariff', html`<bdi>${pool.tariff.displayName}</bdi>, ${labelOf(TariffType, pool.tariff.type)}`],
  ['Capacity', pool.tariff.type === TariffType.Standard ? 'none: each SIM has its own limit' : 'shared by its SIMs'],
  ['Watchdog', MODE_WORDS[pool.watchdogMode]],
  ...(enforcement === null ? [] : [['Enforcement', enforcementWords(enforcement)] as const]),
  ['Warns at', thresholdWords(pool)],
  ['Burn rate', burnRateWords(pool)],
  // The same keys may see both.
  ...(enforcement === null
    ? []
    : [['Workflows', html`<a href="/t/${tenantId}/workflows?poolId=${pool.id}">All of this pool</a>`] as const]),
]

function enforcementWords(enforcement: NonNullable<Part<EnforcementSettings>>): Html | string {
  if ('missing' in enforcement) return html`<span class="missing">Cannot be read: ${enforcement.missing}</span>`
  return enforcement.data.enabled ? 'on' : html`<span class="critical">stopped: no SIM is suspended</span>`
}
