/** Activation codes of eSIMs: who sees them, and what the audit trail records of it. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { ownDatabase } from '../../setup/login.ts'
import { type Ask, anIccid, aSim, asking, useHarness } from '../harness.ts'

const harness = useHarness({ database: ownDatabase })

interface Shown {
  readonly id: number
  readonly iccid: string
  readonly esimQrPayload: string | null
  readonly esimQrDataUrl: string | null
}

const CODE = 'LPA:1$rsp.example.com$04386-AGYFT-A74Y8-3F815$$1'

/** The first was imported with its code, the others came with orders. */
let esims: Shown[]
beforeAll(async () => {
  const sims = [
    { iccid: anIccid(), type: 1, esimQrPayload: CODE },
    { iccid: anIccid(), type: 0, esimQrPayload: CODE },
    { iccid: anIccid(), type: 1, esimQrPayload: `${CODE}2` },
    { iccid: anIccid(), type: 1, imsi: CODE },
  ]
  const imported = await harness.tenant.inside('POST', '/internal/sims', { sims }, { 'idempotency-key': 'nor these' })
  expect(imported.body).toMatchObject({ created: [{}], rejected: [{}, {}, {}] })
  expect(JSON.stringify(imported.body)).not.toContain('AGYFT')
  const order = (await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity: 2 })).body.id
  const once = { 'idempotency-key': 'the codes are not kept' }
  await harness.tenant.inside('POST', `/internal/orders/${order}/process`)
  await harness.tenant.inside('POST', `/internal/orders/${order}/complete`, {}, once)
  const given = (await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity: 1 })).body.id
  await harness.tenant.inside('POST', `/internal/orders/${given}/process`)
  const body = { sims: [{ iccid: anIccid(), esimQrPayload: CODE }] }
  const completed = { 'idempotency-key': 'nor are those of the request' }
  await harness.tenant.inside('POST', `/internal/orders/${given}/complete`, body, completed)
  await aSim(harness.tenant)
  const { data } = (await harness.tenant.ask('GET', '/api/sims')).body
  esims = data.filter(({ type }: { type: number }) => type === 1)
})

const keyOf = async (body: object): Promise<{ ask: Ask; id: string }> => {
  const made = await harness.tenant.inside('POST', '/internal/keys', { name: 'k', ...body })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return { ask: asking(harness.outside, { authorization: `Bearer ${made.body.key}` }), id: made.body.id }
}

/** What a caller sees of the first eSIM: in the list, in a search, by id and by ICCID. */
async function seen(ask: Ask): Promise<Shown[]> {
  const [{ id, iccid } = { id: 0, iccid: '' }] = esims
  const lists = [await ask('GET', '/api/sims'), await ask('GET', `/api/sims?search=${iccid}`)]
  const alone = [await ask('GET', `/api/sims/${id}`), await ask('GET', `/api/sims/${iccid}`)]
  const listed = lists.map(({ body }) => body.data.find((sim: Shown) => sim.id === id))
  return [...listed, ...alone.map(({ body }) => body)]
}

const scopesOf = async (id: string) => {
  const { body } = await harness.tenant.inside('GET', '/internal/keys')
  return body.find((key: { id: string }) => key.id === id).scopes
}

describe('activation codes', () => {
  const HIDDEN = { esimQrPayload: null, esimQrDataUrl: null }
  test('are shown as they were given, also as a QR code', async () => {
    const [shown] = await seen(harness.tenant.ask)

    const esimQrDataUrl = expect.stringMatching(/^data:image\/png;base64,/)
    expect(shown).toMatchObject({ esimQrPayload: CODE, esimQrDataUrl })
    expect(esims).toHaveLength(4)
  })

  const SHOWN = { esimQrPayload: expect.stringMatching(/^LPA:1\$/), esimQrDataUrl: expect.stringMatching(/^data:/) }

  test.each([
    ['are hidden from a read key', { scopes: ['read'] }, HIDDEN, ['read']],
    ['are shown to a write key', { scopes: ['write'] }, SHOWN, ['write', 'esim']],
    ['are shown to an admin key', { scopes: ['admin'] }, SHOWN, ['admin', 'esim']],
    ['are shown to a read key with scope esim', { scopes: ['read', 'esim'] }, SHOWN, ['read', 'esim']],
    ['are hidden from a write key without scope esim', { scopes: ['write'], esim: false }, HIDDEN, ['write']],
  ])('%s, in lists or alone', async (_who, body, codes, scopes) => {
    const key = await keyOf(body)

    for (const sim of await seen(key.ask)) expect(sim).toMatchObject(codes)
    expect(await scopesOf(key.id)).toEqual(scopes)
  })

  test('are hidden from operator keys without scope esim', async () => {
    const made = await harness.operate('POST', '/internal/keys', { name: 'k', scopes: ['operator', 'esim'] })
    const named = { 'x-tenant-id': harness.tenant.id }
    const plain = asking(harness.outside, { authorization: `Bearer ${harness.operatorKey}`, ...named })
    const given = asking(harness.outside, { authorization: `Bearer ${made.body.key}`, ...named })

    for (const sim of await seen(harness.tenant.ask)) expect(sim).toMatchObject(SHOWN)
    for (const sim of await seen(plain)) expect(sim).toMatchObject(HIDDEN)
    for (const sim of await seen(given)) expect(sim).toMatchObject(SHOWN)
  })

  test.each([
    ['alone', { scopes: ['esim'] }, '/scopes'],
    ['given and taken at once', { scopes: ['read', 'esim'], esim: false }, '/esim'],
  ])('have a scope that is refused %s', async (_how, body, pointer) => {
    const refused = await harness.tenant.inside('POST', '/internal/keys', { name: 'k', ...body })

    expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })

  test('keep their scope when a key is rotated', async () => {
    for (const body of [{ scopes: ['read'] }, { scopes: ['write'] }]) {
      const old = await keyOf(body)
      const made = await harness.tenant.inside('POST', `/internal/keys/${old.id}/rotate`)
      expect(await scopesOf(made.body.id)).toEqual(await scopesOf(old.id))
    }
  })

  test('leave an audit row for each request showing them', async () => {
    const simIds = esims.map(({ id }) => id)
    const [first = null] = simIds
    const reader = await keyOf({ scopes: ['read'] })
    const trailOf = async (ask: Ask, url: string) => {
      const requestId = `codes-${randomUUID()}`
      expect((await ask('GET', url, undefined, { 'x-request-id': requestId })).status).toBe(200)
      const { body } = await harness.tenant.inside('GET', `/internal/audit?requestId=${requestId}`)
      return body.data
    }
    const { ask, key } = harness.tenant
    const row = { subject: 'esim-codes', keyId: key.split('_')[1], before: null }

    expect(await trailOf(ask, `/api/sims/${first}`)).toMatchObject([
      { ...row, action: 'getSim', subjectId: String(first), after: { simIds: [first] } },
    ])
    expect(await trailOf(ask, '/api/sims')).toMatchObject([
      { ...row, action: 'listSims', subjectId: `${first} to ${simIds.at(-1)}`, after: { simIds } },
    ])
    expect(await trailOf(ask, '/api/sims?search=nothing-of-the-kind')).toEqual([])
    expect(await trailOf(reader.ask, '/api/sims')).toEqual([])
  })

  test('are kept in table sims only', async () => {
    const { rows: tables } = await sql<{ name: string }>`
      select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r'`.execute(harness.root)
    const found: string[] = []
    for (const { name } of tables) {
      const { rows } = await sql`
        select 1 from ${sql.table(name)} t
         where t::text ~ 'LPA:1[$][^$]+[$][0-9A-Z]{5}|AGYFT|iVBORw0KGgo' limit 1`.execute(harness.root)
      if (rows.length > 0) found.push(name)
    }

    expect(found).toEqual(['sims'])
  })
})
