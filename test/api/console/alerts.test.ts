/** The pages of alerts, as a browser without scripts gets them. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { LogLevel, TicketType } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { MOST_LOOKED_AT } from '../../../service/alerts/rows/open-alerts.ts'
import { insertHold } from '../../../service/enforcement/rows/guard.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { insertLogEntries } from '../../../store/log.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { aWarning } from '../../unit/channels/notifications.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, aTenant, type Tenant, useHarness } from '../harness.ts'
import { type Browser, escaped, idsIn, linksIn, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)

let operator: Browser
let poolId: number
let sim: { id: number; iccid: string }
const alertsOf = (tenant: Pick<Tenant, 'id'> = harness.tenant) => `/t/${tenant.id}/alerts`
const pageOf = async (url: string) => (await operator.get(url)).body
const rowsOf = async (query: string) => idsIn(await pageOf(`${alertsOf()}?${query}`), 'alert')
/** The id of the alert of a rule, ended or not. */
async function idOf(rule: string, tenant = harness.tenant): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id::int from alerts where rule = ${rule} and tenant_id = ${tenant.id}`.execute(harness.root)
  return rows[0]?.id ?? 0
}
const entry = (rule: string, mark: string, message: string) => ({
  dedupeKey: `${rule}/sim/${sim.id}/${mark}`,
  rule,
  ruleVersion: 1,
  simId: sim.id,
  poolId,
  level: LogLevel.Critical,
  cycleKey: null,
  explanation: [],
  message,
})

beforeAll(async () => {
  operator = await pages.signedIn(harness.operatorKey)
  const { tenant } = harness
  const shipped = only({ 'sim-overage': asShipped, 'sim-usage-warning': asShipped, 'pool-overage': asShipped })
  await activateRules(harness.store, shipped, 'the tests')
  poolId = await aPool(tenant, { name: 'Meters <1>' })
  sim = await anActiveSim(harness, tenant, { poolId }, { tag: 'one' })
  const at = { at: harness.now, by: 'key:0123456789ab' }
  await writeAlerts(harness, tenant, [
    { rule: 'sim-overage', kind: 'sim', id: sim.id, state: { told: ['fired'], began: harness.now - 3_600_000 } },
    { rule: 'sim-usage-warning', kind: 'sim', id: sim.id, state: { acknowledged: at } },
    { rule: 'pool-overage', kind: 'pool', id: poolId, state: { withheld: ['stage', 'nodata'] } },
    { rule: 'gone', kind: 'tenant', id: 0, scope: '', state: { phase: 'pending', error: 'no fact <b>' } },
    { rule: 'ended', kind: 'sim', id: sim.id, state: { phase: 'resolved', told: ['fired'] } },
  ])
  await inTenant(harness.store, tenant.id, (tx) =>
    insertLogEntries(tx, [entry('sim-overage', '2026-11/fired', 'The SIM <one> is over its limit.')]),
  )
})

describe('the alerts', () => {
  test('are shown with subject, pool, phase and what is withheld', async () => {
    const body = await pageOf(alertsOf())

    for (const shown of [
      'The SIM &lt;one&gt; is over its limit.',
      `${sim.iccid} (one)`,
      'Meters &lt;1&gt;',
      'stage of its rule',
      'no usage comes in',
      'acknowledged by <bdi>key:0123456789ab</bdi>',
      'Critical',
      'Pending',
      '4 found',
    ])
      expect(body).toContain(shown)
    expect(linksIn(body)).toEqual(
      expect.arrayContaining([
        `${alertsOf()}/${await idOf('sim-overage')}`,
        `/t/${harness.tenant.id}/sims/${sim.id}`,
        alertsOf(),
      ]),
    )
  })

  test.each([
    ['rule=sim-overage', ['sim-overage']],
    ['level=1', ['sim-usage-warning']],
    ['level=2&withheld=false', ['sim-overage']],
    ['phase=pending', ['gone']],
    ['acknowledged=true', ['sim-usage-warning']],
    ['withheld=true', ['pool-overage']],
    ['ended=true', ['ended']],
    ['level=&phase=&acknowledged=&withheld=&ended=&rule=pool-overage', ['pool-overage']],
  ])('are filtered by %s', async (query, rules) => {
    expect(await rowsOf(query)).toEqual(await Promise.all(rules.map((rule) => idOf(rule))))
  })

  test('keep their filters in the form', async () => {
    const body = await pageOf(`${alertsOf()}?level=1&acknowledged=false&ended=true&rule=%22x`)

    expect(body).toContain('<option value="1" selected>Warning</option>')
    expect(body).toContain('<option value="false" selected>No</option>')
    expect(body).toContain('<option value="true" selected>Ended</option>')
    expect(body).toContain('name="rule" value="&quot;x"')
    expect(body).toContain('No alert matches.')
  })

  test('say that nothing is wrong', async () => {
    expect(await pageOf(alertsOf(harness.other))).toContain('No alert: nothing is wrong.')
  })

  test('lead on by cursor, also from a part without any', async () => {
    const tenant = await aTenant(harness, 'Many')
    await writeAlerts(harness, tenant, [
      { rule: 'oldest', kind: 'tenant', id: 0, scope: '', state: { acknowledged: { at: 0, by: null } } },
      { rule: 'copied', kind: 'tenant', id: 0, scope: '' },
    ])
    await inTenant(harness.store, tenant.id, ({ q }) =>
      sql`insert into alerts (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at, explanation)
          select rule, 1, n, '', state, firing, rule_version, evaluated_at, explanation
            from alerts, generate_series(1, ${MOST_LOOKED_AT - 1}) n where rule = 'copied'`.execute(q),
    )
    const first = await pageOf(`${alertsOf(tenant)}?acknowledged=true`)
    const further = linksIn(first).find((href) => href?.includes('cursor=')) ?? ''
    const second = await pageOf(further)
    const all = await pageOf(alertsOf(tenant))

    expect(first).toContain('None among the alerts looked at;')
    expect(further).toContain('acknowledged=true')
    expect(idsIn(second, 'alert')).toEqual([await idOf('oldest', tenant)])
    expect(linksIn(second)).toContain(`${alertsOf(tenant)}?acknowledged=true`)
    expect(idsIn(all, 'alert')).toHaveLength(50)
    expect(all).toContain('>Next page</a>')
  })

  test.each([
    ['a wrong filter', () => `${alertsOf()}?level=9`, 400],
    ['a cursor of another list', () => `${alertsOf()}?cursor=s0`, 400],
    ['no alert at all', () => `${alertsOf()}/one`, 400],
    ['an unknown alert', () => `${alertsOf()}/99999`, 404],
  ])('are refused for %s', async (_, url, status) => {
    expect(await operator.get(url())).toMatchObject({
      status,
      headers: { 'content-type': 'text/html; charset=utf-8' },
    })
  })
})

describe('an alert', () => {
  test('shows verdict, reasons, nearest change, and its course', async () => {
    const body = await pageOf(`${alertsOf()}/${await idOf('sim-overage')}`)

    for (const shown of [
      'The SIM &lt;one&gt; is over its limit.',
      'Firing since <time datetime="2026-11-20T12:00:00.000Z">2026-11-20 12:00 UTC</time>',
      'Conditions met since <time datetime="2026-11-20T11:00:00.000Z">',
      'overageMB is 0 MB',
      'Not met:',
      'holds if',
      'Meters &lt;1&gt;',
      'Nothing so far',
    ])
      expect(body).toContain(shown)
    expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/sims/${sim.id}`)
  })

  test('shows what is withheld, by whom and why', async () => {
    const silence = { simId: sim.id, rule: 'sim-usage-warning', lasts: 'P1D', reason: 'Replaced <soon>' }
    const { body: made } = await harness.tenant.inside('POST', '/internal/silences', silence)
    const silenced = await pageOf(`${alertsOf()}/${await idOf('sim-usage-warning')}`)
    const staged = await pageOf(`${alertsOf()}/${await idOf('pool-overage')}`)

    expect(silenced).toContain('2026-11-21 12:00 UTC</time>, by <bdi>tests</bdi>: <bdi>Replaced &lt;soon&gt;</bdi>')
    expect(silenced).toContain(
      `<a href="${alertsOf().replace('/alerts', '/silences')}/${made.id}">Silence ${made.id}</a>`,
    )
    expect(silenced).toContain('If it still fires at the end of the silence, it is mailed then.')
    expect(silenced).toContain('It is acknowledged, so it is not escalated.')
    expect(staged).toContain('Its rule&#39;s stage lets it do no more.')
    expect(staged).toContain('No usage is received: it stays as it is')
    expect(staged).toContain('It is decided again when usage comes in.')
  })

  test('shows what each episode led to', async () => {
    const told = ['fired/episode-1', 'resolved/episode-1', 'fired/episode-2']
    const began = harness.now
    await writeAlerts(harness, harness.tenant, [
      { rule: 'again', kind: 'sim', id: sim.id, scope: '', state: { told, part: '/episode-2', episode: 2, began } },
    ])
    const entries = ['episode-1/fired', 'episode-1/resolved', 'episode-2/fired']
    await inTenant(harness.store, harness.tenant.id, (tx) =>
      insertLogEntries(
        tx,
        entries.map((mark) => entry('again', mark, `Entry of ${mark}`)),
      ),
    )
    const body = await pageOf(`${alertsOf()}/${await idOf('again')}`)

    expect(body.match(/Entry of [\w/-]+/g)?.slice(-3)).toEqual([
      'Entry of episode-2/fired',
      'Entry of episode-1/resolved',
      'Entry of episode-1/fired',
    ])
    expect(body).toContain(', resolved')
    expect(body).toContain('It has fired 2 times.')
  })

  test('shows the tickets, workflows, mails and holds that followed', async () => {
    const { tenant, store } = harness
    const meter = await anActiveSim(harness, tenant, { poolId }, { tag: 'cut off' })
    const workflowId = suspendOnOverageId(tenant.id, meter.id, '2026-11')
    const by = { rule: 'sim-overage', cycle: '2026-11', until: 'renewal', workflowId } as const
    const key = `sim-overage/sim/${meter.id}/2026-11/fired`
    const hold = await inTenant(store, tenant.id, async (tx) => {
      await complete(tx, { simId: meter.id, type: TicketType.Suspend, cause: { by: 'watchdog', ...by } })
      await insertNotifications(tx, [{ body: aWarning({ key }), dueAt: tx.now }])
      await sql`insert into workflow_starts (workflow_id, started_at) values (${workflowId}, ${tx.now})`.execute(tx.q)
      const scope = { what: 'suspensions', rule: by.rule, version: 1, poolId: null, cycleKey: by.cycle } as const
      return insertHold(tx, scope, { cycleEndsAt: new Date('2026-12-01'), suspended: 6, allowed: 3 })
    })
    const { body: tickets } = await tenant.ask('GET', '/api/tickets')
    const ticketId = tickets.find(
      (one: { simId: number; type: number }) => one.simId === meter.id && one.type === TicketType.Suspend,
    ).id
    const { until: _, ...asked } = by
    const action = {
      ...asked,
      simId: meter.id,
      action: 'suspended',
      counter: 0,
      detail: 'by rule sim-overage',
      ticketId,
    }
    await tenant.inside('POST', '/internal/watchdog/actions', action)
    const state = { told: ['fired'], mailed: ['fired'], guard: { is: 'held', hold, part: '' } } as const
    await writeAlerts(harness, tenant, [{ rule: by.rule, kind: 'sim', id: meter.id, state }])
    const { data } = (await tenant.inside('GET', `/internal/alerts?simId=${meter.id}`)).body
    const body = await pageOf(`${alertsOf()}/${data[0].id}`)

    for (const shown of [
      '<strong>Suspended the SIM</strong>, until the next billing cycle',
      'The SIM comes back by itself when the next billing cycle begins.',
      `<a href="/t/${tenant.id}/tickets/${ticketId}">Suspend ticket</a> of <a href="/t/${tenant.id}/sims/${meter.id}">SIM ${meter.id}</a>: Complete`,
      `<a href="/t/${tenant.id}/workflows/${encodeURIComponent(workflowId)}">Workflow</a> started<small>${workflowId}</small>`,
      'Mail to <bdi>whom its address names</bdi>: waiting',
      `<a href="/t/${tenant.id}/decisions/${hold}">Decision ${hold}</a> of the guard: waits for a person`,
    ])
      expect(body).toContain(shown)
  })

  test('says why it could not be decided, and that it has ended', async () => {
    expect(await pageOf(`${alertsOf()}/${await idOf('gone')}`)).toContain('<bdi>no fact &lt;b&gt;</bdi>')
    expect(await pageOf(`${alertsOf()}/${await idOf('ended')}`)).toContain('It has ended: nothing')
  })

  test('shows the words of others as text', async () => {
    for (const [n, tag] of HOSTILE_NAMES.entries()) {
      const message = tag.toWellFormed().replaceAll('\0', '') || 'empty'
      const rule = `hostile-${n}`
      await writeAlerts(harness, harness.tenant, [
        { rule, kind: 'sim', id: sim.id, scope: '', state: { told: ['fired'] } },
      ])
      await inTenant(harness.store, harness.tenant.id, (tx) => insertLogEntries(tx, [entry(rule, 'fired', message)]))

      for (const url of [`${alertsOf()}?rule=${rule}`, `${alertsOf()}/${await idOf(rule)}`]) {
        const body = await pageOf(url)
        expect(body).toContain(`<bdi>${escaped(message)}</bdi>`)
        if (escaped(message) !== message) expect(body).not.toContain(message)
      }
    }
  })
})
