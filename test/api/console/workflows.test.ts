/** The pages of workflows without Temporal. With it: test/workflows/console.test.ts. */
import { beforeAll, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { anActiveSim, aPool, useHarness } from '../harness.ts'
import { type Browser, linksIn, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)

let browser: Browser
beforeAll(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const workflows = () => `/t/${harness.tenant.id}/workflows`

test('the list is there, and says that Temporal is away', async () => {
  const { status, body } = await browser.get(`${workflows()}?simId=17&type=enforce-pool`)

  expect(status).toBe(200)
  expect(body).toContain('<strong>Temporal cannot be reached.</strong>')
  expect(body).toContain('<option value="enforce-pool" selected>Enforce a pool</option>')
  expect(linksIn(body)).toContain(`${workflows()}?type=enforce-pool`)
})

test.each([
  [
    'a page of one',
    () => `${workflows()}/${encodeURIComponent(suspendOnOverageId(harness.tenant.id, 1, '2026-11'))}`,
    503,
  ],
  ['no id at all', () => `${workflows()}/..%2Fcounts`, 400],
  ['a wrong type', () => `${workflows()}?type=none`, 400],
])('%s is refused', async (_, url, status) => {
  expect((await browser.get(url())).status).toBe(status)
})

test('a SIM, its suspension and its pool lead to them; not for keys of a tenant', async () => {
  const poolId = await aPool(harness.tenant)
  const { id } = await anActiveSim(harness, harness.tenant, { poolId })
  const workflowId = suspendOnOverageId(harness.tenant.id, id, '2026-11')
  const cause = { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId } as const
  await inTenant(harness.store, harness.tenant.id, (tx) => complete(tx, { simId: id, type: TicketType.Suspend, cause }))
  const linksOf = async (from: Browser) =>
    (await Promise.all([`sims/${id}`, `pools/${poolId}`].map((path) => from.get(`/t/${harness.tenant.id}/${path}`))))
      .flatMap(({ body }) => linksIn(body))
      .filter((href) => href?.startsWith(workflows()))

  expect((await linksOf(browser)).toSorted()).toEqual(
    [
      workflows(),
      workflows(),
      `${workflows()}/${encodeURIComponent(workflowId)}`,
      `${workflows()}?poolId=${poolId}`,
      `${workflows()}?simId=${id}`,
    ].toSorted(),
  )
  expect(await linksOf(await pages.signedIn(harness.tenant.key))).toEqual([])
})
