import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { aPool, aSim, aTariff, provisioned, times, useHarness } from '../harness.ts'

const harness = useHarness()
const PATH = '/internal/workflows/provision-in-bulk'
const CSV = { 'content-type': 'text/csv' }

const fresh = (count: number, tenant = harness.tenant) => times(count, () => aSim(tenant))
async function started(body: object) {
  const answer = await harness.tenant.inside('POST', PATH, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  return answer.body
}
const batchOf = async (id: string) => (await harness.tenant.inside('GET', `/internal/provision-batches/${id}`)).body
const simsOf = async (id: string, query = '') =>
  (await harness.tenant.inside('GET', `/internal/provision-batches/${id}/sims${query}`)).body
const note = (id: string, body: object) =>
  harness.tenant.inside('POST', `/internal/provision-batches/${id}/outcomes`, { started: [], ended: [], ...body })
const outbox = async () => {
  const { rows } = await sql<{ request: any }>`select request from workflow_outbox order by id`.execute(harness.root)
  return rows.map(({ request }) => request)
}
const ended = (index: number, more: object = {}) => ({
  index,
  outcome: 'activated',
  provisionTicket: crypto.randomUUID(),
  activateTicket: crypto.randomUUID(),
  unassignTicket: null,
  step: null,
  code: null,
  detail: null,
  ...more,
})

describe('POST /internal/workflows/provision-in-bulk', () => {
  test('stores the batch and requests its workflow', async () => {
    const [one, two] = await fresh(2)
    const [poolId, other] = [await aPool(harness.tenant), await aPool(harness.tenant)]
    const first = { simId: one?.id, tag: 'door 1' }
    const second = { iccid: two?.iccid, poolId: other }
    harness.jobs.length = 0

    const batch = await started({ sims: [first, second], defaults: { poolId }, parallel: 7 })

    const workflowId = `provision-in-bulk:${harness.tenant.id}:${batch.id}`
    expect(batch).toEqual({ id: batch.id, workflowId, total: 2, refused: 0, refusals: [] })
    expect(harness.jobs).toContainEqual({ queue: 'workflows', tenantId: harness.tenant.id })
    expect((await outbox()).at(-1)).toMatchObject({
      do: 'start',
      type: 'provision-in-bulk',
      workflowId,
      input: { tenantId: harness.tenant.id, batchId: batch.id, parallel: 7 },
    })
    expect(await batchOf(batch.id)).toMatchObject({ total: 2, parallel: 7, endedAt: null, counts: { waiting: 2 } })
    expect((await simsOf(batch.id)).sims).toMatchObject([
      { index: 0, simId: one?.id, iccid: one?.iccid, poolId, tariffId: null, tag: 'door 1', outcome: 'waiting' },
      { index: 1, simId: two?.id, iccid: two?.iccid, poolId: other, tag: null, outcome: 'waiting' },
    ])
  })

  test('takes CSV, with defaults in the query', async () => {
    const [one, two] = await fresh(2)
    const [poolId, tariffId] = [await aPool(harness.tenant), await aTariff(harness.tenant)]
    const csv = `ICCID;simId;tag;tariffId;colour\n${one?.iccid};;north;;red\n;${two?.id};;${tariffId};\n`

    const answer = await harness.tenant.inside('POST', `${PATH}?poolId=${poolId}&parallel=3`, csv, CSV)

    expect(answer).toMatchObject({ status: 202, body: { total: 2, refused: 0 } })
    expect((await simsOf(answer.body.id)).sims).toMatchObject([
      { simId: one?.id, poolId, tariffId: null, tag: 'north' },
      { simId: two?.id, poolId, tariffId, tag: null },
    ])
    expect(await batchOf(answer.body.id)).toMatchObject({ parallel: 3 })
  })

  test('takes SIMs already provisioned into the pool', async () => {
    const poolId = await aPool(harness.tenant)
    const [one, two] = await fresh(2)
    await provisioned(harness, harness.tenant, one?.id ?? 0, { poolId })
    await provisioned(harness, harness.tenant, two?.id ?? 0, { poolId })
    await harness.tenant.ask('POST', '/api/tickets/activate', { simId: two?.id })

    const batch = await started({ sims: [{ simId: one?.id }, { simId: two?.id }], defaults: { poolId } })
    expect(batch.refused).toBe(0)
  })

  test('makes a batch that is no bulk run of tickets', async () => {
    const { inside } = harness.tenant
    const [sim] = await fresh(1)
    const { id } = await started({ sims: [{ simId: sim?.id }] })
    const run = await inside('POST', '/internal/bulk-tickets', { type: 'refresh', sims: { ids: [sim?.id] } })

    for (const [method, url, code] of [
      ['GET', `/internal/bulk-tickets/${id}`, 'bulk_not_found'],
      ['GET', `/internal/bulk-tickets/${id}/items`, 'bulk_not_found'],
      ['DELETE', `/internal/bulk-tickets/${id}`, 'bulk_not_found'],
      ['GET', `/internal/provision-batches/${run.body.id}`, 'batch_not_found'],
      ['GET', `/internal/provision-batches/${run.body.id}/sims`, 'batch_not_found'],
      ['POST', `/internal/provision-batches/${run.body.id}/end`, 'batch_not_found'],
      ['GET', '/internal/provision-batches/none', 'batch_not_found'],
    ] as const) {
      expect(await inside(method, url)).toMatchObject({ status: 404, body: { code } })
    }
    expect((await inside('GET', '/internal/bulk-tickets')).body.data).toMatchObject([{ id: run.body.id }])
  })
})

describe('invalid rows of a batch', () => {
  async function aMixture() {
    const { tenant } = harness
    const [poolId, elsewhere, gone] = [await aPool(tenant), await aPool(tenant), await aPool(tenant)]
    await tenant.ask('DELETE', `/api/pools/${gone}`)
    const [forPools, inactive] = [await aTariff(tenant, 1), await aTariff(tenant)]
    await tenant.inside('PATCH', `/internal/tariffs/${inactive}`, { isActive: false })
    const [good, there, held, a = good, b = good, c = good, d = good, e = good] = await fresh(8)
    await provisioned(harness, tenant, there?.id ?? 0, { poolId: elsewhere })
    await provisioned(harness, tenant, held?.id ?? 0, { poolId })
    await sql`insert into suspensions (tenant_id, sim_id, cause, opened_at)
              values (${tenant.id}, ${held?.id}, 'user', now())`.execute(harness.root)
    const [stranger] = await fresh(1, harness.other)
    const rows = [
      [{ simId: good?.id }, null],
      [{ simId: 999_999_999 }, 'sim_not_found'],
      [{ iccid: stranger?.iccid }, 'sim_not_found'],
      [{ simId: good?.id }, 'sim_repeated'],
      [{ simId: there?.id }, 'sim_already_assigned'],
      [{ simId: held?.id }, 'sim_state_conflict'],
      [{ simId: a?.id, poolId: gone }, 'pool_not_found'],
      [{ simId: b?.id, tariffId: 999_999 }, 'tariff_not_found'],
      [{ simId: c?.id, tariffId: inactive }, 'tariff_inactive'],
      [{ simId: d?.id, poolID: poolId }, 'invalid_request'],
      [{ poolId }, 'invalid_request'],
      [{ simId: e?.id, tag: 'x'.repeat(129) }, 'invalid_request'],
      [7, 'invalid_request'],
      [{ iccid: '8.94E+18' }, 'invalid_request'],
    ] as const
    return { rows, poolId, forPools, lonely: (await fresh(1))[0] }
  }

  test('refuse the batch, each with its own code', async () => {
    const { rows, poolId, forPools, lonely } = await aMixture()
    const before = (await outbox()).length

    const body = { sims: rows.map(([row]) => row), defaults: { poolId } }
    const answer = await harness.tenant.inside('POST', PATH, body)

    expect(answer).toMatchObject({ status: 422, body: { code: 'batch_refused' } })
    expect(answer.body.detail).toContain('13 of 14 rows')
    expect(answer.body.errors.map(({ pointer, code }: any) => [pointer, code])).toEqual(
      rows.flatMap(([, code], index) => (code === null ? [] : [[`/sims/${index}`, code]])),
    )
    expect((await outbox()).length).toBe(before)
    const needsPool = await harness.tenant.inside('POST', PATH, { sims: [{ simId: lonely?.id, tariffId: forPools }] })
    expect(needsPool.body.errors).toMatchObject([{ pointer: '/sims/0', code: 'tariff_needs_pool' }])
  })

  test.each([
    ['pool', { poolId: 999_999 }, 'pool_not_found'],
    ['tariff', { tariffId: 999_999 }, 'tariff_not_found'],
  ])('with an unknown default %s refuse the batch', async (_, defaults, code) => {
    const [sim] = await fresh(1)

    const body = { sims: [{ simId: sim?.id }], defaults, skipInvalid: true }
    const answer = await harness.tenant.inside('POST', PATH, body)

    expect(answer).toMatchObject({ status: 404, body: { code } })
  })

  test('are left out with skipInvalid', async () => {
    const { rows, poolId } = await aMixture()

    const batch = await started({ sims: rows.map(([row]) => row), defaults: { poolId }, skipInvalid: true })

    expect(batch).toMatchObject({ total: 14, refused: 13 })
    expect(batch.refusals).toContainEqual({ code: 'sim_not_found', count: 2 })
    expect(await batchOf(batch.id)).toMatchObject({ total: 14, counts: { refused: 13, waiting: 1 } })
    expect((await simsOf(batch.id, '?open=true')).sims).toMatchObject([{ index: 0 }])
    expect((await simsOf(batch.id, '?outcome=refused&limit=2')).sims).toMatchObject([
      { index: 1, simId: null, iccid: '999999999', code: 'sim_not_found' },
      { index: 2, code: 'sim_not_found' },
    ])
  })
})

describe('the list of a batch', () => {
  const aBatch = async (count: number) => {
    const sims = (await fresh(count)).map(({ id }) => ({ simId: id }))
    return (await started({ sims })).id as string
  }

  test('is read by keyset, in the order of the request', async () => {
    const id = await aBatch(5)

    const first = await simsOf(id, '?limit=2')
    const second = await simsOf(id, `?limit=2&afterIndex=${first.nextAfterIndex}`)
    const third = await simsOf(id, `?limit=2&afterIndex=${second.nextAfterIndex}`)

    const pages = [first, second, third].map(({ sims }) => sims.map(({ index }: any) => index))
    expect(pages).toEqual([[0, 1], [2, 3], [4]])
    expect(third.nextAfterIndex).toBeNull()
  })

  test('keeps the first outcome of each SIM', async () => {
    const id = await aBatch(3)
    const good = ended(0)

    await note(id, { started: [0, 1, 2], ended: [good] })
    await note(id, { started: [0, 1, 2], ended: [good, ended(0, { outcome: 'failed' })] })
    const reason = { step: 'activate', code: 'line_unknown', detail: 'the carrier has no line' }
    await note(id, { ended: [ended(1, { outcome: 'compensated', ...reason })] })

    const counts = { waiting: 0, running: 1, activated: 1, compensated: 1, failed: 0 }
    expect(await batchOf(id)).toMatchObject({ counts })
    expect((await simsOf(id)).sims[0]).toMatchObject({ outcome: 'activated', provisionTicket: good.provisionTicket })
    expect((await simsOf(id, '?outcome=compensated')).sims).toMatchObject([{ index: 1, ...reason }])
    expect((await simsOf(id, '?open=true')).sims).toMatchObject([{ index: 2, outcome: 'running' }])
  })

  test('counts SIMs not started as cancelled at the end', async () => {
    const id = await aBatch(3)
    await note(id, { ended: [ended(0), ended(1, { outcome: 'failed', step: 'provision', code: 'x', detail: 'y' })] })

    const end = () => harness.tenant.inside('POST', `/internal/provision-batches/${id}/end`)
    const first = await end()
    const second = await harness.at(harness.now + 60_000, end)

    expect(first.body).toMatchObject({
      batch: { counts: { activated: 1, failed: 1, cancelled: 1, waiting: 0 } },
      failures: [{ index: 1, outcome: 'failed', step: 'provision', code: 'x' }],
    })
    expect(second.body).toEqual(first.body)
  })
})
