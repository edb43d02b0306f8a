/** The list of tickets for the operator: its filters, alone and together, and its cursors. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { TicketStatus, TicketType } from '../../../domain/codes.ts'
import { MOST_LOOKED_AT } from '../../../domain/tickets/ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket, failTicket } from '../../service/harness.ts'
import { aSim, type Tenant, times, useHarness } from '../harness.ts'

const harness = useHarness()
const { Pending, Complete, Failed, Cancelled } = TicketStatus
const { Activate, Provision, Refresh } = TicketType
const FAILURE = { code: 'carrier_refused', text: 'the carrier refuses it', detail: 'The carrier: 422 no' }

const list = async (query: string, tenant: Tenant = harness.tenant) =>
  (await tenant.inside('GET', `/internal/tickets?${query}`)).body
const idsOf = async (query: string, tenant?: Tenant): Promise<string[]> =>
  (await list(query, tenant)).data.map(({ id }: { id: string }) => id)

/** Opens a ticket on a SIM, and ends it in this status. @returns its id */
async function aTicket({ id: tenantId, ask }: Tenant, simId: number, kind: string, status: TicketStatus = Pending) {
  const { id } = (await ask('POST', `/api/tickets/${kind}`, { simId })).body
  if (status === Complete) await inTenant(harness.store, tenantId, (tx) => endTicket(tx, simId, id))
  if (status === Cancelled) await ask('DELETE', `/api/tickets/${id}`)
  if (status === Failed) await inTenant(harness.store, tenantId, (tx) => failTicket(tx, id, FAILURE))
  return id
}

describe('GET /internal/tickets', () => {
  let sims: { id: number; iccid: string }[]
  /** Newest first. */
  const made: { id: string; simId: number; type: TicketType; status: TicketStatus }[] = []
  let theirs: string
  beforeAll(async () => {
    sims = await times(2, () => aSim(harness.tenant, { tag: 'meter' }))
    for (const { id: simId } of sims) {
      for (const [kind, type, status] of [
        ['provision', Provision, Failed],
        ['provision', Provision, Complete],
        ['activate', Activate, Failed],
        ['activate', Activate, Cancelled],
        ['activate', Activate, Pending],
        ['refresh', Refresh, Pending],
      ] as const)
        made.unshift({ id: await aTicket(harness.tenant, simId, kind, status), simId, type, status })
    }
    theirs = await aTicket(harness.other, (await aSim(harness.other)).id, 'provision')
  })

  const expected = (fits: (one: (typeof made)[number]) => boolean) => made.filter(fits).map(({ id }) => id)

  test('lists all tickets, newest first, each with its SIM', async () => {
    const { data, pagination } = await list('')

    expect(data.map(({ id }: { id: string }) => id)).toEqual(made.map(({ id }) => id))
    expect(pagination).toMatchObject({ page: 1, pageSize: 100, totalItems: 12, hasNextPage: false })
    expect(data.at(-1)).toMatchObject({
      simId: sims[0]?.id,
      iccid: sims[0]?.iccid,
      tag: 'meter',
      status: Failed,
      failureCode: FAILURE.code,
      failureText: FAILURE.text,
      failureDetail: FAILURE.detail,
      cause: { by: 'user' },
    })
  })

  test.each(Object.values(TicketStatus))('finds those of status %s, alone and with other filters', async (status) => {
    const simId = sims[1]?.id

    expect(await idsOf(`status=${status}`)).toEqual(expected((one) => one.status === status))
    for (const type of Object.values(TicketType)) {
      expect(await idsOf(`status=${status}&type=${type}`)).toEqual(
        expected((one) => one.status === status && one.type === type),
      )
      expect(await idsOf(`simId=${simId}&status=${status}&type=${type}`)).toEqual(
        expected((one) => one.simId === simId && one.status === status && one.type === type),
      )
    }
    expect(await idsOf(`simId=${simId}&status=${status}`)).toEqual(
      expected((one) => one.simId === simId && one.status === status),
    )
  })

  test('finds those of a type or a SIM', async () => {
    const simId = sims[0]?.id

    expect(await idsOf(`type=${Activate}`)).toEqual(expected(({ type }) => type === Activate))
    expect(await idsOf(`simId=${simId}`)).toEqual(expected((one) => one.simId === simId))
    expect(await idsOf(`simId=${simId}&type=${Provision}`)).toEqual(
      expected((one) => one.simId === simId && one.type === Provision),
    )
  })

  test.each(['', `status=${Failed}`, `type=${Activate}`, `status=${Failed}&type=${Activate}`])(
    'is walked by cursor, although all are of one instant: %s',
    async (filter) => {
      const whole = await idsOf(filter)
      const seen: string[] = []
      const pages: object[] = []
      let next: string | undefined = `/internal/tickets?${filter}&pageSize=1`
      while (next !== undefined && pages.length <= whole.length) {
        const { body, headers } = await harness.tenant.inside('GET', next)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        pages.push(body.pagination)
        next = /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
      }

      expect(seen).toEqual(whole)
      expect(pages.at(-1)).toMatchObject({
        page: whole.length,
        totalItems: whole.length,
        hasNextPage: false,
        hasPreviousPage: true,
      })
    },
  )

  test('goes on past a ticket that has left the list', async () => {
    const { id: simId } = await aSim(harness.other)
    await aTicket(harness.other, simId, 'provision', Complete)
    const ids = [await aTicket(harness.other, simId, 'activate')]
    for (const _ of [1, 2, 3]) ids.unshift(await aTicket(harness.other, simId, 'refresh'))
    const url = `/internal/tickets?simId=${simId}&status=${Pending}&pageSize=2`
    const first = await harness.other.inside('GET', url)
    await harness.other.ask('DELETE', `/api/tickets/${ids[1]}`)
    const next = /<([^>]+)>; rel="next"/.exec(first.headers['link'] ?? '')?.[1] ?? ''
    const second = await harness.other.inside('GET', next)

    expect(first.body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2))
    expect(second.body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2))
  })

  test('shows nothing of another tenant', async () => {
    expect(await idsOf('', harness.other)).toContain(theirs)
    expect(await idsOf('')).not.toContain(theirs)
    expect(await list(`simId=${sims[0]?.id}`, harness.other)).toMatchObject({ data: [], pagination: { totalItems: 0 } })
  })

  test(`looks at ${MOST_LOOKED_AT} for a part, and goes on from there`, async () => {
    const { id: simId } = await aSim(harness.other)
    const oldest = await aTicket(harness.other, simId, 'provision', Complete)
    await inTenant(harness.store, harness.other.id, ({ q, now }) =>
      sql`insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
          select gen_random_uuid(), ${simId}, ${Activate}, ${Complete}, ${now}, '{"by": "user"}', ${now}, ${now}
            from generate_series(1, ${MOST_LOOKED_AT}::integer)`.execute(q),
    )
    const first = await harness.other.inside('GET', `/internal/tickets?simId=${simId}`)
    const none = await harness.other.inside('GET', `/internal/tickets?simId=${simId}&type=${Provision}`)
    const next = /<([^>]+)>; rel="next"/.exec(none.headers['link'] ?? '')?.[1] ?? ''

    expect(first.body.pagination).toMatchObject({ totalItems: MOST_LOOKED_AT, hasNextPage: true })
    expect(none.body).toMatchObject({ data: [], pagination: { totalItems: 0, hasNextPage: true } })
    expect(await harness.other.inside('GET', next)).toMatchObject({
      body: { data: [{ id: oldest }], pagination: { page: 2, hasNextPage: false } },
    })
  })

  test.each([
    ['status', 'status=5'],
    ['status', 'status=failed'],
    ['type', 'type=9'],
    ['simId', 'simId=0'],
    ['pageSize', 'pageSize=101'],
    ['cursor', 'cursor=s0'],
    ['cursor', `cursor=a${'0'.repeat(44)}`],
  ])('refuses a wrong %s: %s', async (parameter, query) => {
    const { status, body } = await harness.tenant.inside('GET', `/internal/tickets?${query}`)

    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.errors).toMatchObject([{ parameter }])
  })
})
