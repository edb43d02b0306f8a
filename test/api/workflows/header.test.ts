/** The header Simherd-Workflow: who may send it, and what it is stored as. */
import { beforeAll, describe, expect, test } from 'vitest'
import { rememberStarts, requestWorkflows } from '../../../store/outbox.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { type Ask, anActiveSim, aPool, asking, aTenant, useHarness } from '../harness.ts'

const harness = useHarness()
/** The public listener, called as workers call it. */
let worker: Ask
beforeAll(() => {
  const headers = { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': harness.tenant.id }
  worker = asking(harness.outside, headers)
})

const from = (workflowId: string) => ({ 'simherd-workflow': workflowId })
const undoing = () => `undo-suspensions:${harness.tenant.id}:pool-overage:1795000000000`

/** A SIM that is Active in a pool. */
const activeSim = async (): Promise<number> =>
  (await anActiveSim(harness, harness.tenant, { poolId: await aPool(harness.tenant) })).id

/** Requests a suspension as the watchdog's evaluation does. @returns the workflow's id */
async function watchdogRun(simId: number, until: 'renewal' | 'manual'): Promise<string> {
  const { id: tenantId } = harness.tenant
  const workflowId = `suspend-on-overage:${tenantId}:${simId}:2026-11`
  const input = {
    tenantId,
    simId,
    cycleKey: '2026-11',
    cycleEndsAt: '2026-12-01T00:00:00.000Z',
    rule: 'sim-overage',
    ruleFile: 'sim/overage.yaml',
    grace: 'PT0S',
    until,
  }
  const request = { do: 'signalWithStart', type: 'suspend-on-overage', workflowId, input, signal: 'overLimit' } as const
  await inTenant(harness.store, tenantId, async (tx) => {
    await rememberStarts(tx, [workflowId])
    await requestWorkflows(tx, [request])
  })
  return workflowId
}

const causeOf = async (ticketId: string) =>
  (await harness.tenant.inside('GET', `/internal/tickets/${ticketId}`)).body.cause
const trailOf = async (query: string) => (await harness.tenant.inside('GET', `/internal/audit?${query}`)).body.data

describe('the cause of a ticket', () => {
  test.each(['renewal', 'manual'] as const)('takes rule, cycle and end (%s) from the suspension', async (until) => {
    const simId = await activeSim()
    const workflowId = await watchdogRun(simId, until)

    const { status, body } = await worker('POST', '/api/tickets/suspend', { simId }, from(workflowId))
    expect({ status, body }).toEqual({ status: 200, body: { id: expect.any(String) } })
    expect(await causeOf(body.id)).toEqual({ by: 'watchdog', rule: 'sim-overage', cycle: '2026-11', until, workflowId })
    expect(Object.keys((await worker('GET', `/api/tickets/${body.id}`)).body)).not.toContain('cause')
  })

  test('names the workflow, as does its audit entry', async () => {
    const simId = await activeSim()

    const { body } = await worker('POST', '/api/tickets/refresh', { simId }, from(undoing()))
    expect(await causeOf(body.id)).toEqual({ by: 'workflow', workflowId: undoing() })
    expect(await trailOf(`subjectId=${body.id}`)).toMatchObject([{ action: 'refreshSim', workflowId: undoing() }])
    const found = await trailOf(`workflowId=${encodeURIComponent(undoing())}&pageSize=100`)
    expect(found.map(({ subjectId }: { subjectId: string }) => subjectId)).toContain(body.id)
    expect(await trailOf('workflowId=elsewhere')).toEqual([])
  })

  test('is a person without the header', async () => {
    const simId = await activeSim()

    const { body } = await worker('POST', '/api/tickets/suspend', { simId })
    expect(await causeOf(body.id)).toEqual({ by: 'user' })
    expect(await trailOf(`subjectId=${body.id}`)).toMatchObject([{ action: 'suspendSim', workflowId: null }])
  })

  test('comes from the header at /internal, never the body', async () => {
    const { inside } = harness.tenant
    const simId = await activeSim()
    const workflowId = await watchdogRun(simId, 'renewal')

    const both = await inside('POST', '/internal/tickets/suspend', { simId, cause: { by: 'user' } }, from(workflowId))
    expect(both).toMatchObject({ status: 400, body: { errors: [{ pointer: '/cause' }] } })
    const { body } = await inside('POST', '/internal/tickets/suspend', { simId }, from(workflowId))
    expect(await causeOf(body.id)).toMatchObject({ by: 'watchdog', rule: 'sim-overage', until: 'renewal' })
  })
})

describe('Simherd-Workflow', () => {
  const opened = async (simId: number) => {
    const { body } = await worker('GET', '/api/tickets')
    return body.filter((ticket: { simId: number; status: number }) => ticket.simId === simId && ticket.status === 0)
  }

  test('is refused from a tenant’s own key', async () => {
    const simId = await activeSim()

    const answer = await harness.tenant.ask('POST', '/api/tickets/suspend', { simId }, from(undoing()))
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(answer.body.detail).toContain('Simherd-Workflow')
    expect(await opened(simId)).toEqual([])
  })

  test('is refused unless it names the tenant’s workflow', async () => {
    const simId = await activeSim()
    const other = await aTenant(harness, 'Another')
    const ids = [
      undoing().replace(harness.tenant.id, other.id),
      `month-end-timer:${other.id}-2026-12-01T00:00:00Z`,
      harness.tenant.id,
      `tidy-up:${harness.tenant.id}:1`,
      'undo-suspensions::pool-overage:1',
      '%',
    ]

    for (const id of ids) {
      const answer = await worker('POST', '/api/tickets/suspend', { simId }, from(id))
      expect(answer, id).toMatchObject({ status: 400, body: { errors: [{ parameter: 'Simherd-Workflow' }] } })
    }
    expect(await opened(simId)).toEqual([])
  })

  test('is refused for a suspension nobody started', async () => {
    const simId = await activeSim()
    const unknown = `suspend-on-overage:${harness.tenant.id}:${simId}:2026-10`

    const answer = await worker('POST', '/api/tickets/suspend', { simId }, from(unknown))
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ parameter: 'Simherd-Workflow' }] } })
    expect(await opened(simId)).toEqual([])
  })

  test('is refused at an endpoint without a tenant', async () => {
    const { status } = await harness.operate('GET', '/internal/order-prices', undefined, from(undoing()))
    expect(status).toBe(400)
  })
})

test('Simherd-Workflow accepts ids with Temporal’s suffixes and beyond ASCII', async () => {
  const { id } = harness.tenant
  for (const workflowId of [
    `month-end-timer:${id}`,
    `month-end-timer:${id}-2026-12-01T00:00:00Z`,
    `month-end-batch:${id}:2026-11:0a1b2c3d:move:0`,
    encodeURI(`undo-suspensions:${id}:überlauf:1`),
  ]) {
    const { status } = await worker('PATCH', '/api/tenant/name', { name: `Of ${workflowId.length}` }, from(workflowId))
    expect(status, workflowId).toBe(200)
  }
  expect(await trailOf('action=renameTenant')).toMatchObject([
    { workflowId: `undo-suspensions:${id}:überlauf:1` },
    {},
    {},
    {},
  ])
})
