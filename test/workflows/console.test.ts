/** The console's pages of workflows, on the development server. */
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { WorkflowClient } from '../../adapters/temporal/client.ts'
import { monthEndId, provisionAndActivateId, suspendOnOverageId, undoSuspensionsId } from '../../domain/temporal/ids.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import { hasChromium, signIn, useChromium } from '../api/console/chromium.ts'
import { type Browser, fieldIn, linksIn, OWN, useConsole } from '../api/console/form-browser.ts'
import { faultsOf } from '../api/console/page-faults.ts'
import { anActiveSim, aPool, aSim, useHarness } from '../api/harness.ts'
import { recordUsage } from '../service/record-usage.ts'
import { drawn } from '../setup/cases.ts'
import { soon } from '../setup/soon.ts'
import { useTemporal } from './development-server.ts'
import { startHarness, useModel } from './harness.ts'
import * as model from './model/service.ts'

const SUITE = 'the pages of workflows in a browser'

/** A console, its operator, and pages of workflows. */
function useWorkflowPages(workflowClient: WorkflowClient) {
  const harness = useHarness({ workflowClient })
  const pages = useConsole(harness, { clock: Date.now })
  let browser: Browser
  beforeAll(async () => {
    browser = await pages.signedIn(harness.operatorKey)
  })
  const pathOf = (id: string, act = '') => `/t/${harness.tenant.id}/workflows/${encodeURIComponent(id)}${act}`
  const look = async (path: string) => (await browser.get(path)).body
  return {
    harness,
    pages,
    pathOf,
    look,
    page: (id: string) => look(pathOf(id)),
    list: (query = '') => look(`/t/${harness.tenant.id}/workflows${query}`),
    get: (url: string, headers = {}) => browser.get(url, headers),
    post: (url: string, form: Record<string, string>) => browser.post(url, form),
    find: (q: string) => browser.get(`/t/${harness.tenant.id}/find?q=${encodeURIComponent(q)}`),
    /** Looks until a page says this. @returns the page */
    until: (id: string, words: string | RegExp) =>
      soon(async () => {
        const body = await look(pathOf(id))
        expect(body).toMatch(words)
        return body
      }),
    /** Opens the page of an act and sends its form. @returns sends the same form again, and the answer */
    act: async (id: string, name: string, fields: Record<string, string> = {}) => {
      const form = await browser.get(pathOf(id, `/${name}`))
      const key = fieldIn(form.body, 'key')
      const send = () => browser.post(pathOf(id, `/${name}`), { key, ...fields })
      return { form: form.body, send, answer: await send() }
    },
    /** The acts that a page offers. */
    actsOn: (body: string, id: string) =>
      linksIn(body)
        .filter((href) => href?.startsWith(`${pathOf(id)}/`))
        .map((href) => href?.split('/').at(-1)),
  }
}

describe('the pages of workflows, with a worker,', async () => {
  const door = await useTemporal()
  const { harness, pathOf, look, page, list, get, post, find, until, act, actsOn } = useWorkflowPages(
    door.workflowClient,
  )
  const workers = useModel(() => startHarness(door.address, door.namespace))
  let poolId: number
  beforeAll(async () => {
    poolId = await aPool(harness.tenant, { name: 'Vans' })
  })
  beforeEach(() => {
    workers.model.tenantId = harness.tenant.id
  })

  /** Starts the activation of a new SIM. */
  async function provision() {
    const { id: simId } = await aSim(harness.tenant, { tag: `<b>${crypto.randomUUID()}` })
    workers.model.sims.set(simId, model.aSim({ status: 0 }))
    const body = { simId, poolId, tag: 'door 4' }
    await harness.tenant.inside('POST', '/internal/workflows/provision-and-activate', body)
    return { simId, id: provisionAndActivateId(harness.tenant.id, simId) }
  }
  /** Reports the first activity of a workflow, as its worker does: these workers report to their model. */
  async function reportTrouble(workflowId: string) {
    const at = new Date().toISOString()
    const { activities } = (await harness.tenant.inside('GET', `/internal/workflows/${workflowId}/pending`)).body
    const { activityId, type: activity } = activities[0]
    const failure = { attempt: 3, code: 'unavailable', detail: 'away', since: at, failedAt: at, nextAttemptAt: at }
    const failing = [{ workflowId, activityId, activity, ...failure }]
    await harness.tenant.inside('POST', '/internal/workflows/troubles', { failing, ended: [] })
  }
  const panelIn = (body: string, id: string) =>
    new RegExp(`<section class="panel" aria-labelledby="${id}">.*?</section>`, 's').exec(body)?.[0] ?? ''
  /** Starts the suspension of a new SIM. */
  async function suspend(more: Partial<SuspendOnOverageInput> = {}) {
    const { id: simId } = await aSim(harness.tenant)
    workers.model.sims.set(simId, model.aSim())
    const tenantId = harness.tenant.id
    await door.workflowClient.signalWithStart({
      ...model.aSuspension(simId, '2026-11', { tenantId, rule: 'sim-overage', ...more }),
      workflowId: suspendOnOverageId(tenantId, simId, '2026-11'),
    })
    return { simId, id: suspendOnOverageId(tenantId, simId, '2026-11') }
  }

  test('list them by type, status, state, SIM and cycle, with words and links', async () => {
    const { simId, id } = await provision()
    await until(id, 'SIM active')
    workers.model.failing.set('activate', 'line_unknown')
    const bad = await provision()
    await until(bad.id, 'Failed, and undone')

    const body = await soon(async () => {
      const found = await list(`?simId=${bad.simId}&state=compensated&status=completed&type=provision-and-activate`)
      expect(found).toContain('1 found')
      return found
    })
    expect(body).toMatch(/Unsuccessful<\/span>\s*<small><bdi>Failed, and undone/)
    expect(linksIn(body)).toEqual(expect.arrayContaining([pathOf(bad.id), `/t/${harness.tenant.id}/sims/${bad.simId}`]))
    expect(body).toContain(`<input type="hidden" name="simId" value="${bad.simId}">`)
    expect(await list(`?simId=${simId}`)).toContain('Completed</span>')
    for (const query of [`?simId=${simId}&status=failed`, '?type=enforce-pool', `?poolId=${poolId}&cycle=1`])
      expect(await list(query)).toContain('No workflow matches.')
  })

  test('show the steps of an ended one with its tickets, and what it began with', async () => {
    const { id, simId } = await provision()
    const body = await until(id, 'SIM active')

    expect(body).toMatch(/Completed <time [^>]*>just now<\/time>, after \d/)
    expect(body).toMatch(/Activate: <bdi>complete<\/bdi><small>.*href="[^"]*\/tickets\/[0-9a-f-]{36}"/)
    expect(body).toMatch(/<dt>Pool<\/dt><dd><a href="[^"]*\/pools\/\d+">/)
    expect(body).toContain(`<a href="/t/${harness.tenant.id}/sims/${simId}"><bdi>&lt;b&gt;`)
    expect(body).not.toContain('<b>')
    expect(actsOn(body, id)).toEqual([])
    expect((await find(id)).headers['location']).toBe(pathOf(id))
    const { answer } = await act(id, 'cancel')
    expect([answer.status, answer.body]).toEqual([
      409,
      expect.stringContaining('is completed; only a running one takes this'),
    ])
  })

  test('call one retrying whose activity fails, with attempt, error and next try', async () => {
    workers.model.outages = 1000
    const { id } = await provision()
    const body = await until(id, /<strong>Retrying\.<\/strong>[^<]*<bdi>.*Next try/)

    expect(body).toContain('Retrying</span>')
    expect(body).toMatch(/Activity open both tickets has failed (once|\d+ times): <bdi>.*\(<bdi>unavailable<\/bdi>\)/)
    expect(body).toMatch(/Open both tickets: attempt \d+ (begins|is under way)/)
    await reportTrouble(id)
    for (const query of ['', '?trouble=true']) {
      const listed = await list(query)
      expect(linksIn(panelIn(listed, 'retrying'))).toContain(pathOf(id))
      expect(panelIn(listed, 'retrying')).toMatch(/Open both tickets has failed (once|\d+ times): <bdi>/)
    }
    workers.model.outages = 0
    expect(await until(id, 'SIM active')).not.toContain('Retrying')
    expect([await list(), await list('?trouble=true')].map((found) => found.includes(pathOf(id, '">')))).toEqual([
      true,
      false,
    ])
  })

  test('say what it waits for, and cancel it', async () => {
    workers.model.pending.add('provision')
    const { id } = await provision()
    const body = await until(id, /Waits for .*ticket [0-9a-f]{8}.*the carrier has to provision the SIM/)
    expect(body).toContain('Running</span>')
    expect(actsOn(body, id)).toEqual(['cancel'])

    const { form, answer } = await act(id, 'cancel')
    expect(form).toContain('It undoes its own steps')
    expect([answer.status, answer.headers['location']]).toEqual([303, pathOf(id, '?done=cancel')])
    expect(actsOn(await until(id, 'Cancelled</span>'), id)).toEqual(['retry'])
  })

  test('retry a failed one once, however often the form is sent', async () => {
    workers.model.failing.set('provision', 'line_unknown')
    const { id } = await provision()
    const body = await until(id, 'Unsuccessful')
    expect(body).toContain('<dt>Failure</dt><dd><bdi>the carrier said no</bdi> (<bdi>line_unknown</bdi>)')
    expect(actsOn(body, id)).toEqual(['retry'])
    workers.model.failing.clear()

    const { answer, send } = await act(id, 'retry')
    await until(id, 'SIM active')
    expect([answer.status, (await send()).status]).toEqual([303, 303])
    expect(await page(id)).toContain('SIM active')
    const { answer: again } = await act(id, 'retry')
    expect([again.status, again.body]).toEqual([409, expect.stringContaining('has ended well: activated')])
  })

  test('extend a grace, and refuse one that outlasts the cycle with the reason', async () => {
    const { id } = await suspend({ grace: 'PT20M', cycleEndsAt: new Date(Date.now() + 18_000_000).toISOString() })
    const body = await until(id, 'In its grace period')
    expect(actsOn(body, id)).toEqual(['resume', 'extend-grace', 'cancel'])
    const endOf = (text: string) => /Grace ends at<\/dt><dd><time datetime="([^"]*)"/.exec(text)?.[1] ?? ''

    const refused = await act(id, 'extend-grace', { hours: '9' })
    expect(refused.answer.status).toBe(409)
    expect(refused.answer.body).toMatch(/value="9"[^]*role="alert"[^]*after the billing cycle/)
    expect((await act(id, 'extend-grace', { hours: '0' })).answer.status).toBe(400)
    await act(id, 'keep-suspended', { until: 'manual' }).then(({ answer }) => expect(answer.status).toBe(409))

    const { answer, send } = await act(id, 'extend-grace', { hours: '1' })
    expect([answer.status, (await send()).status]).toEqual([303, 303])
    expect(Date.parse(endOf(await page(id))) - Date.parse(endOf(body))).toBe(3_600_000)
  })

  test('keep a SIM suspended, then bring it back', async () => {
    const { id, simId } = await suspend()
    const body = await until(id, 'SIM suspended')
    expect(actsOn(body, id)).toEqual(['resume', 'keep-suspended', 'cancel'])
    expect(body).toMatch(/<dt>Until<\/dt><dd><bdi>the next billing cycle/)

    expect((await act(id, 'keep-suspended', { until: 'manual' })).answer.status).toBe(303)
    await until(id, /<dt>Until<\/dt><dd><bdi>a person acts/)
    const { form, answer } = await act(id, 'resume')
    expect(form).toContain('It comes back, and is not suspended again in this cycle')
    expect(answer.headers['location']).toBe(pathOf(id, '?done=resume'))
    expect(await until(id, 'Completed</span>')).toContain('Brought back by a person')
    expect(workers.model.sims.get(simId)?.status).toBe(1)
  })

  test('show how far an undo is, and the SIMs that failed', async () => {
    const [good, bad] = [await aSim(harness.tenant), await aSim(harness.tenant)]
    const [since, until_] = [new Date(0).toISOString(), new Date().toISOString()]
    const suspension = { cause: 'watchdog', workflowId: null, until: 'manual' } as const
    workers.model.sims.clear()
    for (const sim of [good, bad]) workers.model.sims.set(sim.id, model.aSim({ status: 2, suspension }))
    workers.model.failing.set(`activate/${bad.id}`, 'line_unknown')
    workers.model.pending.add('activate')
    const tenantId = harness.tenant.id
    const id = undoSuspensionsId(tenantId, 'a rule: mine', '0')
    const input = { tenantId, rule: 'a rule: mine', since, until: until_, pageSize: 1, perRun: 100 }
    await door.workflowClient.start({ type: 'undo-suspensions', workflowId: id, input })
    const early = await until(id, /Waits for <bdi>1 ticket</)
    workers.model.pending.clear()
    const body = await until(id, 'Done, with failures')

    expect(early).toContain('aria-label="SIMs: 0 of 2"')
    expect(linksIn(early)).toContain(`/t/${tenantId}/alerts?rule=a+rule%3A+mine`)
    expect(body).toMatch(/2 of 2, <span class="critical">1 failed/)
    expect(body).toMatch(new RegExp(`href="/t/${tenantId}/sims/${bad.id}">SIM ${bad.id}</a>: <bdi>the carrier said no`))
    expect(body).toContain('Unsuccessful')
    expect(actsOn(body, id)).toEqual(['retry'])
  })

  test('are led to by the undo of a rule', async () => {
    const path = `/t/${harness.tenant.id}/enforcement/undo`
    const { body } = await get(`${path}?rule=a-rule&since=2026-11-01T00:00:00Z`)
    const form = { key: crypto.randomUUID(), rule: 'a-rule', since: '2026-11-01T00:00:00.000Z' }
    const sent = [await post(path, form), await post(path, form)]
    const id = undoSuspensionsId(harness.tenant.id, 'a-rule', String(Date.parse(form.since)))
    const after = await get(pathOf(id, '?done=undo'), OWN)

    expect(body).toContain('There is nothing to undo')
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array(2).fill([303, pathOf(id, '?done=undo')]),
    )
    expect(after.body).toContain('It has begun: the SIMs come back one after another.')
  })

  test('count the steps of a month end, and retry its failed changes', async () => {
    const { id: simId } = await aSim(harness.tenant)
    workers.model.sims.clear()
    workers.model.sims.set(simId, model.aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    workers.model.failing.set('provision', 'carrier_rejected')
    const [tenantId, cycleKey, cycleEndsAt] = [harness.tenant.id, 'retried', new Date().toISOString()]
    workers.model.cycles = [{ key: cycleKey, endsAt: cycleEndsAt, closedAt: null }]
    const id = monthEndId(tenantId, cycleKey)
    const input = { tenantId, cycleKey, cycleEndsAt, closeAfter: 'PT1H', pageSize: 1, parallel: 1, perRun: 100 }
    await door.workflowClient.start({ type: 'month-end-reprovision', workflowId: id, input })
    const body = await until(id, 'Closes the cycle')
    expect(body).toMatch(/<dt>Move<\/dt><dd>1 of 1, <span class="critical">1 failed/)
    expect(actsOn(body, id)).toEqual(['retry-changes', 'cancel'])

    workers.model.failing.clear()
    expect((await act(id, 'retry-changes')).answer.status).toBe(303)
    expect(actsOn(await until(id, /<dt>Move<\/dt><dd>1 of 1<\/dd>/), id)).toEqual(['cancel'])
    await door.workflowClient.cancel(id)
  })

  test('are led to by the month end that a person starts, which its cycle then names', async () => {
    const { id: simId } = await anActiveSim(harness, harness.tenant)
    const at = '2026-10-05T00:00:00Z'
    await recordUsage(harness.store, harness.tenant.id, [{ recordId: 'october', simId, at, smsCount: 1 }])
    workers.model.sims.clear()
    workers.model.cycles = [{ key: '2026-10', endsAt: '2026-11-01T00:00:00Z', closedAt: null }]
    const path = `/t/${harness.tenant.id}/month/2026-10`
    const id = monthEndId(harness.tenant.id, '2026-10')
    expect(panelIn(await look(path), 'workflow')).toContain('None has begun')

    const form = { key: fieldIn(await look(`${path}/start`), 'key') }
    const sent = [await post(`${path}/start`, form), await post(`${path}/start`, form)]
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array(2).fill([303, pathOf(id, '?done=start')]),
    )
    expect((await get(pathOf(id, '?done=start'), OWN)).body).toContain('It has begun: its steps are here.')
    const body = await soon(async () => {
      const found = await look(path)
      expect(linksIn(panelIn(found, 'workflow'))).toEqual([pathOf(id)])
      return found
    })
    expect(linksIn(body)).not.toContain(`${path}/start`)
    expect(await look(`${path}/start`)).toMatch(/It runs already|It has run: the page of its workflow/)
    expect(linksIn(await page(id))).toContain(path)
  })

  test('are started by a Schedule that is paused and resumed', async () => {
    await door.workflowClient.ensureSchedule({ tenantId: harness.tenant.id, billingCycle: 'P1M' })
    const path = `/t/${harness.tenant.id}/month`
    const switchTo = async (name: string) => {
      const { body } = await get(`${path}/schedule/${name}`)
      return post(`${path}/schedule/${name}`, { key: fieldIn(body, 'key') })
    }
    expect(panelIn(await look(path), 'schedule')).toMatch(/<dt>Next<\/dt><dd><time/)

    const paused = await switchTo('pause')
    expect([paused.status, paused.headers['location']]).toEqual([303, `${path}?done=pause`])
    const body = (await get(`${path}?done=pause`, OWN)).body
    expect(body).toContain('It is paused: no month end starts by itself.')
    expect(panelIn(body, 'schedule')).toContain('None: it is paused')
    expect(linksIn(panelIn(body, 'schedule'))).toEqual([`${path}/schedule/resume`])
    expect(await look(`${path}/schedule/pause`)).toContain('It is paused already.')

    expect((await switchTo('resume')).status).toBe(303)
    expect(linksIn(panelIn(await look(path), 'schedule'))).toEqual([`${path}/schedule/pause`])
  })

  describe.runIf(await hasChromium(SUITE))('in Chromium', () => {
    const shown = useChromium(harness, { workflowClient: door.workflowClient })

    test('are valid, accessible, and no wider than the window', async () => {
      workers.model.failing.set('activate', 'line_unknown')
      const { id: failed } = await provision()
      await until(failed, 'Failed, and undone')
      const { id: suspended } = await suspend()
      await until(suspended, 'SIM suspended')
      workers.model.outages = 1000
      const { id: retrying } = await provision()
      await until(retrying, 'Retrying.')
      const context = await shown.browser.newContext()
      onTestFinished(() => context.close())
      const page = await context.newPage()
      await page.goto(shown.url)
      await signIn(page, harness.operatorKey)
      const faults: string[] = []
      const acts = [pathOf(failed, '/retry'), pathOf(suspended, '/keep-suspended')]
      for (const path of drawn([
        `/t/${harness.tenant.id}/month`,
        `/t/${harness.tenant.id}/month/2026-10`,
        `/t/${harness.tenant.id}/month/schedule/pause`,
        `/t/${harness.tenant.id}/workflows`,
        pathOf(failed),
        pathOf(suspended),
        pathOf(retrying),
        ...acts,
      ])) {
        await page.goto(`${shown.url}${path}`)
        for (const [colorScheme, width] of [
          ['light', 1280],
          ['dark', 360],
        ] as const) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 800 })
          faults.push(...(await faultsOf(page)))
        }
      }

      expect(faults).toEqual([])
    })
  })
})

describe('the pages of workflows, without a worker,', async () => {
  const door = await useTemporal()
  const { harness, pages, pathOf, page, list } = useWorkflowPages(door.workflowClient)
  const start = async (simId: number, tenantId = harness.tenant.id) => {
    const workflowId = provisionAndActivateId(tenantId, simId)
    await door.workflowClient.start({ type: 'provision-and-activate', workflowId, input: { tenantId, simId } })
    return workflowId
  }

  test('say that nothing goes on', async () => {
    const body = await page(await start(4))

    expect(body).toContain('No worker is running: nothing goes on.')
    expect(body).toContain('No worker has answered: its steps and its wait are not known.')
    expect(body).toContain('Running</span>')
  })

  test('list 50, and lead on', async () => {
    for (let simId = 100; simId < 160; simId += 1) await start(simId)
    const body = await soon(async () => {
      const found = await list('?status=running')
      expect(found).toMatch(/6\d found/)
      return found
    })
    const next = linksIn(body).find((href) => href?.includes('page=2')) ?? ''
    const rest = await list(next.slice(next.indexOf('?')))

    expect(body.match(/<tr id=/g)).toHaveLength(50)
    expect(rest).toContain('<tr id=')
    expect(next).toBe(`/t/${harness.tenant.id}/workflows?status=running&page=2`)
    expect(linksIn(rest)).not.toContain(next.replace('2', '3'))
    expect(body.length).toBeLessThan(120_000)
  })

  test('show nothing of another tenant, and nothing to its keys', async () => {
    const theirs = await start(9, harness.other.id)
    const [operator, own] = [await pages.signedIn(harness.operatorKey), await pages.signedIn(harness.tenant.key)]

    for (const act of ['', '/cancel', '/retry']) {
      expect((await operator.get(pathOf(theirs, act))).status).toBe(404)
      expect((await own.get(pathOf(await start(10), act))).status).toBe(403)
    }
    expect((await own.get(`/t/${harness.tenant.id}/workflows`)).status).toBe(403)
    expect((await operator.get(pathOf('../counts'))).status).toBe(400)
  })
})
