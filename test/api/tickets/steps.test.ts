/** Tickets that steps of workflows request: a step that repeats its request days later has no second effect. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ticketIdOfStep } from '../../../domain/tickets/ticket-id-of-step.ts'
import { type Ask, aPool, aSim, asking, provisioned, useHarness } from '../harness.ts'

const DAY = 86_400_000
const harness = useHarness()
/** Public and internal listener, called as workers call them. */
let worker: Ask
let inside: Ask
let simId = 0
let workflowId = ''
beforeAll(() => {
  worker = asking(harness.outside, { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': harness.tenant.id })
  inside = harness.tenant.inside
})
beforeEach(async () => {
  simId = (await aSim(harness.tenant)).id
  await provisioned(harness, harness.tenant, simId, { poolId: await aPool(harness.tenant) })
  await setStatus(1)
  workflowId = `undo-suspensions:${harness.tenant.id}:rule-${simId}:1`
})

const setStatus = (status: number) => sql`update sims set status = ${status} where id = ${simId}`.execute(harness.root)
const step = (name: string) => ({ 'simherd-workflow': workflowId, 'idempotency-key': `${workflowId}/run/${name}` })
const suspend = (n: number) => worker('POST', '/api/tickets/suspend', { simId }, step(`suspend/${n}`))
const idOf = (name: string) => ticketIdOfStep(harness.tenant.id, `${workflowId}/run/${name}`)
const tickets = async (): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from tickets where sim_id = ${simId} and type <> 2 order by seq`.execute(harness.root)
  return rows.map(({ id }) => id)
}
const complete = (id: string) =>
  sql`update tickets set status = 2, finished_at = now() where id = ${id}`.execute(harness.root)

describe('a step of a workflow', () => {
  test.each(['/api/tickets/suspend', '/internal/tickets/suspend'])(
    'opens one ticket at %s, even if repeated later',
    async (path) => {
      const ask = path.startsWith('/api') ? worker : inside
      const first = await ask('POST', path, { simId }, step('suspend/1'))
      expect(first.body).toEqual({ id: idOf('suspend/1') })
      const trail = (await inside('GET', `/internal/audit?subjectId=${first.body.id}`)).body.data

      // The ticket is complete, and in this SIM state another one would act again.
      await complete(first.body.id)
      for (const days of [2, 30]) {
        harness.now += days * DAY
        const again = await ask('POST', path, { simId }, step('suspend/1'))
        expect(again).toMatchObject({ status: 200, body: first.body })
      }
      expect(await tickets()).toEqual([first.body.id])
      expect((await inside('GET', `/internal/audit?subjectId=${first.body.id}`)).body.data).toEqual(trail)
    },
  )

  test('gets its ticket after the SIM state changed', async () => {
    const { body } = await suspend(1)
    await complete(body.id)
    await setStatus(2)
    harness.now += 2 * DAY

    expect(await suspend(1)).toMatchObject({ status: 200, body })
    const other = await suspend(2)
    expect(other).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
  })

  test('opens one ticket under three requests at once', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => suspend(1)))
    const opened = answers.filter(({ status }) => status === 200)
    expect(opened.map(({ body }) => body.id)).toEqual(opened.map(() => idOf('suspend/1')))
    expect(await tickets()).toEqual([idOf('suspend/1')])
  })

  test.each([
    ['another SIM', '/api/tickets/suspend', true],
    ['something else', '/api/tickets/refresh', false],
  ])('is refused if it requests %s under its key', async (_, path, elsewhere) => {
    await suspend(1)
    harness.now += 2 * DAY
    const other = elsewhere ? (await aSim(harness.tenant)).id : simId

    const answer = await worker('POST', path, { simId: other }, step('suspend/1'))
    expect(answer).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    expect(await tickets()).toEqual([idOf('suspend/1')])
  })

  test('leaves other Idempotency-Keys to expire after a day', async () => {
    const key = { 'idempotency-key': 'mine' }
    const first = await harness.tenant.ask('POST', '/api/tickets/refresh', { simId }, key)
    harness.now += 2 * DAY

    const second = await harness.tenant.ask('POST', '/api/tickets/refresh', { simId }, key)
    expect(second.status).toBe(200)
    expect(await tickets()).toEqual([first.body.id, second.body.id])
    expect(second.body.id).not.toBe(first.body.id)
  })
})

describe('a ticket that a workflow cancels', () => {
  const open = async () => (await suspend(1)).body.id as string
  const from = (id: string) => ({ 'simherd-workflow': id })

  test('is cancelled idempotently and names the workflow', async () => {
    const id = await open()

    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const answer = await worker('DELETE', `/api/tickets/${id}`, undefined, from(workflowId))
      expect(answer).toMatchObject({ status: 200, body: { id, status: 4 } })
      harness.now += 2 * DAY
    }
    expect((await inside('GET', `/internal/tickets/${id}`)).body).toMatchObject({ status: 4, withdrawnBy: workflowId })
  })

  test('refuses a later cancel by anybody else', async () => {
    const id = await open()
    await worker('DELETE', `/api/tickets/${id}`, undefined, from(workflowId))

    const person = await harness.tenant.ask('DELETE', `/api/tickets/${id}`)
    const other = await worker('DELETE', `/api/tickets/${id}`, undefined, from(`${workflowId}1`))
    for (const answer of [person, other]) {
      expect(answer).toMatchObject({ status: 409, body: { code: 'ticket_not_pending' } })
    }
  })

  test('refuses the workflow if a person was first', async () => {
    const id = await open()
    await harness.tenant.ask('DELETE', `/api/tickets/${id}`)

    const late = await worker('DELETE', `/api/tickets/${id}`, undefined, from(workflowId))
    expect(late).toMatchObject({ status: 409, body: { code: 'ticket_not_pending' } })
    expect((await inside('GET', `/internal/tickets/${id}`)).body).toMatchObject({ status: 4, withdrawnBy: null })
  })
})
