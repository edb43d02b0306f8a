/** The activities of undo-suspensions, killed with their worker, over the interface. */
import { MockActivityEnvironment } from '@temporalio/testing'
import { describe, expect, test } from 'vitest'
import { undoActivities } from '../../../activities/undo.ts'
import { internalClient, publicClient } from '../../../adapters/rest/client.ts'
import { TicketType } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket } from '../../service/harness.ts'
import { anActiveSim, aPool, useHarness } from '../harness.ts'

const harness = useHarness()
let rules = 0
const CYCLE = '2026-11'
const MINUTE = 60_000
const iso = (ms: number) => new Date(ms).toISOString()

const killed = new Error('killed')

/** Activities that send requests to the listener. They die with the first update to a workflow. */
function activities() {
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    if (pathname.includes('/updates/')) throw killed
    const body = await request.text()
    const answer = await harness.inside.inject({
      method: request.method as 'GET',
      url: `${pathname}${search}`,
      headers: { ...Object.fromEntries(request.headers), authorization: `Bearer ${harness.operatorKey}` },
      ...(body === '' ? {} : { payload: body }),
    })
    return new Response(answer.body, { status: answer.statusCode, headers: { 'content-type': 'application/json' } })
  }
  const at = { baseUrl: 'http://simherd.test', headers: { 'x-tenant-id': harness.tenant.id }, fetch }
  return undoActivities(() => ({ api: publicClient(at), internal: internalClient(at) }))
}

/** A SIM that the rule may suspend, with its ticket under way, and the input of an undo of the rule. */
async function aSuspendingSim() {
  const { tenant, store } = harness
  const rule = `rule-${(rules += 1)}`
  const { id: simId } = await anActiveSim(harness, tenant, { poolId: await aPool(tenant) })
  const workflowId = suspendOnOverageId(tenant.id, simId, CYCLE)
  const ask = { rule, cycle: CYCLE, simIds: [simId], workflowId }
  expect((await tenant.inside('POST', '/internal/enforcement/permits', ask)).body.granted).toEqual([simId])
  const cause = { by: 'watchdog', rule, cycle: CYCLE, until: 'renewal', workflowId } as const
  const ticketId = await inTenant(store, tenant.id, (tx) => openTicket(tx, { simId, type: TicketType.Suspend, cause }))
  harness.now += MINUTE
  const time = { since: iso(harness.now - MINUTE), until: iso(harness.now) }
  const page = { tenantId: tenant.id, rule, ...time, afterSimId: 0, limit: 100 }
  harness.now += MINUTE
  const end = () => inTenant(store, tenant.id, (tx) => endTicket(tx, simId, ticketId))
  return { rule, simId, workflowId, page, end }
}

describe('an undo whose worker is killed', () => {
  test.each([
    ['with the ticket still under way', false],
    ['with the ticket that has ended since', true],
  ])('before its page arrives finds the SIM again: %s', async (_, hasEnded) => {
    const { simId, workflowId, page, end } = await aSuspendingSim()

    await activities().takeUndoPage(page)
    if (hasEnded) await end()

    const suspensions = [{ simId, workflowId, suspended: hasEnded }]
    expect(await activities().takeUndoPage(page)).toEqual({ suspensions, total: 1, nextAfterSimId: null })
  })

  test('with its first update has the watchdog pass all of the page over', async () => {
    const { rule, simId, workflowId, page } = await aSuspendingSim()
    const { suspensions } = await activities().takeUndoPage(page)
    const resuming = { tenantId: harness.tenant.id, suspensions, key: 'undo/run/page/1' }

    const resume = (ask: typeof resuming) => activities().resumeSims(ask)
    await expect(new MockActivityEnvironment().run(resume, resuming)).rejects.toBe(killed)

    expect(suspensions).toEqual([{ simId, workflowId, suspended: false }])
    const seen = await harness.tenant.inside('GET', `/internal/sims/${simId}/enforcement?cycle=${CYCLE}&rule=${rule}`)
    expect(seen.body).toMatchObject({ simId, passedOver: true })
  })
})
