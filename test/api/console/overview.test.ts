/** The overview of a tenant, as a browser without scripts gets it. */
import { expect, test } from 'vitest'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, aTenant, NOON, useHarness } from '../harness.ts'
import { escaped, linksIn, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => NOON })
const operator = () => pages.signedIn(harness.operatorKey)

/** The overview's text, without marks. */
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

test('of an empty tenant says that nothing needs a person', async () => {
  const { id } = await aTenant(harness, 'Empty <1>')
  const { status, body } = await (await operator()).get(`/t/${id}`)

  expect(status).toBe(200)
  expect(body).toContain('<h1>Nothing needs you</h1>')
  const text = textOf(body)
  for (const words of ['Open alerts: none. Enforcement is on.', 'never', 'No pool yet', 'No entry yet'])
    expect(text).toContain(words)
  expect(body).toContain(`<bdi>${escaped('Empty <1>')}</bdi>`)
})

test('shows alerts by cause, pools the fullest first, usage and figures', async () => {
  const { tenant } = harness
  await activateRules(harness.store, only({ 'sim-overage': asShipped }), 'the tests')
  const [low, high] = [await aPool(tenant, { name: 'Low' }), await aPool(tenant, { name: 'High' })]
  const sims = [
    await anActiveSim(harness, tenant, { poolId: low }),
    await anActiveSim(harness, tenant, { poolId: high }),
  ]
  await recordUsage(
    harness.store,
    tenant.id,
    sims.map(({ id }, n) => ({ recordId: `o${n}`, simId: id, at: '2026-11-20T12:00:00Z', bytesDown: (n + 1) * 5e6 })),
  )
  await writeAlerts(
    harness,
    tenant,
    sims.map(({ id }) => ({ rule: 'sim-overage', kind: 'sim', id })),
  )
  const { body } = await (await operator()).get(`/t/${tenant.id}`)
  const text = textOf(body)

  expect(body).toContain('<h1>2 critical alerts are open</h1>')
  expect(linksIn(body)).toContain(`/t/${tenant.id}/alerts?rule=sim-overage&level=2`)
  for (const words of ['sim-overage: 2 SIMs', 'Active SIMs 2', 'Used this cycle 15 MB', '10 d 12 h'])
    expect(text).toContain(words)
  expect([...body.matchAll(/id="pool-(\d+)"/g)].map(([, id]) => Number(id))).toEqual([high, low])
  expect(body).toContain('<title>20 Nov: 15 MB</title>')
  expect(body).not.toContain('Cannot be read')
})

test('names what cannot be read, and calls nothing well then', async () => {
  const { id } = await aTenant(harness, 'Broken')
  await harness.root.schema.alterTable('guard_holds').renameTo('guard_holds_away').execute()
  try {
    const { status, body } = await (await operator()).get(`/t/${id}`)

    expect(status).toBe(200)
    expect(body).toContain('<h1>Whether anything is wrong cannot be read</h1>')
    expect(body).not.toContain('no decision waits')
    expect(body).toContain('No pool yet')
  } finally {
    await harness.root.schema.alterTable('guard_holds_away').renameTo('guard_holds').execute()
  }
})

test('leads from entries of the log to their SIM or pool', async () => {
  const tenant = await aTenant(harness, 'Logged')
  const poolId = await aPool(tenant)
  const { id: simId } = await anActiveSim(harness, tenant, { poolId })
  const action = { cycle: '2026-11', rule: 'r', counter: 0, workflowId: 'w' }
  for (const one of [
    { poolId, action: 'tooLittleToPick', detail: 'of the pool' },
    { simId, action: 'graceStarted', detail: 'of the SIM' },
  ])
    await tenant.inside('POST', '/internal/watchdog/actions', { ...action, ...one })
  const { body } = await (await operator()).get(`/t/${tenant.id}`)

  expect(body).toMatch(new RegExp(`<a href="/t/${tenant.id}/pools/${poolId}"><bdi>[^<]*of the pool`))
  expect(body).toMatch(new RegExp(`<a href="/t/${tenant.id}/sims/${simId}"><bdi>[^<]*of the SIM`))
})

test("of a tenant's own key shows its pools and its log", async () => {
  const { status, body } = await (await pages.signedIn(harness.other.key)).get(`/t/${harness.other.id}`)

  expect(status).toBe(200)
  expect(body).toContain('id="pools"')
  for (const id of ['needs', 'usage']) expect(body).not.toContain(`id="${id}"`)
  expect(body).not.toContain('annot be read')
  expect((await (await pages.signedIn(harness.other.key)).get(`/t/${harness.tenant.id}`)).status).toBe(403)
})
