/** The audit trail: what leaves nothing in it, and how it is read. */
import { describe, expect, test } from 'vitest'
import { useEstates } from '../full-tenant.ts'

const estates = useEstates()
const { harness } = estates

describe('the audit trail of requests without effect', () => {
  test.each([
    ['a dry run of an import', '/internal/sims?dryRun=true', { sims: [{ iccid: '894450017199999991' }] }],
    ['a dry run of bulk tickets', '/internal/bulk-tickets?dryRun=true', { type: 'suspend', sims: { filter: {} } }],
    ['a refused request', '/internal/tickets/activate', { simId: 1 }],
    ['a request that changes nothing', '/internal/sims', { sims: [] }],
  ])('has no entry for %s', async (what, url, body) => {
    const { tenant } = estates.ours
    const requestId = `silent-${what.replaceAll(' ', '-')}`

    await tenant.inside('POST', url, body, { 'x-request-id': requestId })

    const trail = await tenant.inside('GET', `/internal/audit?requestId=${requestId}`)
    expect(trail.body.pagination.totalItems).toBe(0)
  })
})

describe('GET /internal/audit', () => {
  const read = async (query: string, of = estates.ours.tenant.inside) => {
    const { status, body } = await of('GET', `/internal/audit?${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  interface Entry {
    readonly id: number
    readonly subject: string
    readonly subjectId: string
    readonly action: string
    readonly keyId: string
    readonly at: string
  }

  test('filters by subject, key, request, action and day', async () => {
    const { tenant, simId } = estates.ours
    await tenant.ask('PATCH', `/api/sims/${simId}/tag`, { tag: 'one' }, { 'x-request-id': 'find-me' })
    await tenant.ask('PATCH', `/api/sims/${simId}/tag`, { tag: 'two' }, { 'x-request-id': 'not-me' })
    const keyId = tenant.key.split('_')[1]

    const [found] = (await read(`requestId=find-me&subject=sim&subjectId=${simId}&action=tagSim&keyId=${keyId}`)).data
    expect(found).toEqual({
      id: expect.any(Number),
      at: expect.stringMatching(/^2026-11-20T12:00:0/),
      actor: `key:${keyId}`,
      actorName: 'first key',
      keyId,
      requestId: 'find-me',
      workflowId: null,
      action: 'tagSim',
      subject: 'sim',
      subjectId: String(simId),
      before: { tag: expect.any(String) },
      after: { tag: 'one' },
    })
    const all: Entry[] = (await read('pageSize=100')).data
    for (const [query, holds] of [
      ['subject=pool', (entry: Entry) => entry.subject === 'pool'],
      [`subjectId=${simId}`, (entry: Entry) => entry.subjectId === String(simId)],
      ['action=createOrder', (entry: Entry) => entry.action === 'createOrder'],
      [`keyId=${keyId}`, (entry: Entry) => entry.keyId === keyId],
    ] as const) {
      const { data } = await read(`${query}&pageSize=100`)
      expect(data.length, query).toBeGreaterThan(0)
      expect(data.every(holds), query).toBe(true)
      expect(data.length, query).toBeLessThan(all.length + 1)
    }
    expect((await read('date=2026-10-20')).data.every(({ at }: Entry) => at.startsWith('2026-10-20'))).toBe(true)
    expect((await read('date=2026-09-01T00:00:00Z')).pagination.totalItems).toBeGreaterThan(0)
    expect((await read('date=2026-09-01')).data).toEqual([])
  })

  test('pages entries, the newest first', async () => {
    const { totalItems } = (await read('pageSize=1')).pagination
    const pages = [await read('pageSize=3&page=1'), await read('pageSize=3&page=2')]

    const ids = pages.flatMap(({ data }) => data.map(({ id }: Entry) => id))
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
    expect(new Set(ids).size).toBe(6)
    expect((await read('page=9999')).pagination.totalItems).toBe(totalItems)
  })

  test('separates the platform’s entries from each tenant’s', async () => {
    const made = await harness.operate('POST', '/internal/keys', { name: 'trail', scopes: ['operator'] })

    const platform = (await read('pageSize=100', harness.operate)).data
    const ofKey = (entry: Entry) => entry.subject === 'key' && entry.subjectId === made.body.id
    expect(platform.some(ofKey)).toBe(true)
    expect(new Set(platform.map(({ subject }: Entry) => subject))).toEqual(new Set(['key', 'rules']))
    expect((await read(`subject=key&subjectId=${made.body.id}`)).data).toEqual([])
    const theirs = (await read('pageSize=100', estates.theirs.tenant.inside)).data
    const ours = new Set((await read('pageSize=100')).data.map(({ id }: Entry) => id))
    expect(theirs.some(({ id }: Entry) => ours.has(id))).toBe(false)
  })
})
