/** What must hold for every route, checked for one route in two estates. */
import { sql } from 'kysely'
import { expect } from 'vitest'
import { type Estates, fingerprintOf, spyOn } from '../full-tenant.ts'
import { type Ask, asking, type Harness, NOON } from '../harness.ts'
import { type Call, lineOf, type Operation, urlOf } from './calls.ts'

/** Operations that need an admin key of the tenant. */
const ADMIN_ONLY = ['renameTenant', 'changeBillingEmail']

/** Operations of the internal interface that take keys of the tenant, and of the public one those for billing. */
const OPEN_TO_ALL = [
  'getTenant',
  'getBilledTenant',
  'listCycles',
  'readStatement',
  'exportStatement',
  'readCycleCost',
  'readUsageSeries',
  'listSuspensionsOfRule',
  'listSuspendingRules',
  'listAddresses',
  'readNotices',
]
const OPEN_TO_ADMINS = ['addAddress', 'removeAddress', 'changeNotices']
const OPEN_TO_BILLING = ['listAlerts', 'getAlert', 'listMails', 'getMail']

const send = (ask: Ask, operation: Operation, call: Call, headers: Record<string, string> = {}) =>
  ask(operation.method, urlOf(operation, call), call.body, headers)

const questionOf = (operation: Operation, call: Call) => `${urlOf(operation, call)} ${JSON.stringify(call.body)}`
const textOf = (answer: { headers: object; body: unknown }) => JSON.stringify([answer.headers, answer.body])

/** The tenant itself, or the operator for the tenant. */
const askerOf = ({ listener }: Operation, tenant: { readonly ask: Ask; readonly inside: Ask }): Ask =>
  listener === 'outside' ? tenant.ask : tenant.inside

/** Keys of every scope, and expired and revoked ones. Moves the clock on by one second, at which keys expire. */
export async function someKeys(harness: Harness) {
  const expiresAt = new Date(NOON + 1000).toISOString()
  const aKey = async (ask: Ask, body: object) => {
    const made = await ask('POST', '/internal/keys', { name: 'matrix', ...body })
    return made.body as { id: string; key: string }
  }
  const badOnes = async (ask: Ask, scopes: string[]) => {
    const [expired, revoked] = [await aKey(ask, { scopes, expiresAt }), await aKey(ask, { scopes })]
    await ask('DELETE', `/internal/keys/${revoked.id}`)
    return { expired: expired.key, revoked: revoked.key }
  }
  const ofTenant = async (scope: string) => (await aKey(harness.tenant.inside, { scopes: [scope] })).key
  const keys = {
    outside: await badOnes(harness.tenant.inside, ['admin']),
    inside: await badOnes(harness.operate, ['operator']),
    read: await ofTenant('read'),
    write: await ofTenant('write'),
    admin: await ofTenant('admin'),
    billing: await ofTenant('billing'),
  }
  harness.now = NOON + 1000
  return keys
}
export type Keys = Awaited<ReturnType<typeof someKeys>>

type Refusal = readonly [who: string, status: 401 | 403, headers: Record<string, string>]

type TenantScope = 'read' | 'write' | 'admin' | 'billing'

/** Of a tenant's own keys: those that the operation takes, though it is internal or they do not read. */
const opensFor =
  (operationId: string) =>
  (scope: TenantScope): boolean =>
    OPEN_TO_ALL.includes(operationId) ||
    (OPEN_TO_ADMINS.includes(operationId) && (scope === 'admin' || scope === 'billing')) ||
    (OPEN_TO_BILLING.includes(operationId) && scope === 'billing')

/** Who must be refused, and how. */
function refusals(harness: Harness, keys: Keys, { operationId, method, listener }: Operation): Refusal[] {
  const ours: Record<string, string> = listener === 'inside' ? { 'x-tenant-id': harness.tenant.id } : {}
  const bearer = (key: string) => ({ authorization: `Bearer ${key}`, ...ours })
  const everywhere: Refusal[] = [
    ['no key', 401, ours],
    ['a malformed key', 401, bearer('hello')],
    ['a wrong secret', 401, bearer(harness.operatorKey.replace(/.{8}$/, 'AAAAAAAA'))],
    ['an expired key', 401, bearer(keys[listener].expired)],
    ['a revoked key', 401, bearer(keys[listener].revoked)],
  ]
  const isOpen = opensFor(operationId)
  const refused = (['read', 'write', 'admin', 'billing'] as const).filter((scope) => !isOpen(scope))
  if (listener === 'inside') {
    return [
      ...everywhere,
      ...refused.map((scope) => [`a tenant's key with ${scope}`, 403, bearer(keys[scope])] as const),
      ["another tenant's key", 403, { ...bearer(keys.admin), 'x-tenant-id': harness.other.id }],
    ]
  }
  return [
    ...everywhere,
    ...(isOpen('billing') ? [] : [['a key for billing', 403, bearer(keys.billing)] as const]),
    ...(method === 'GET' ? [] : [['a key that only reads', 403, bearer(keys.read)] as const]),
    ...(ADMIN_ONLY.includes(operationId) ? [['a key that writes', 403, bearer(keys.write)] as const] : []),
    ['a key that names another tenant', 403, { ...bearer(keys.admin), 'x-tenant-id': harness.other.id }],
  ]
}

/**
 * A call fails with every wrong key, shows nothing to another tenant and changes nothing. The right key succeeds, and the
 * call writes the audit entries of its line and no others.
 */
export async function opensToNobodyElse(estates: Estates, keys: Keys, operation: Operation): Promise<void> {
  const { harness, ours, theirs } = estates
  const line = lineOf(operation)
  const call = await line.call(ours)
  const spy = await spyOn(ours)
  const found = (answer: { headers: object; body: unknown }, asked: Call) =>
    spy(textOf(answer), questionOf(operation, asked))
  const before = await fingerprintOf(harness, harness.tenant.id)

  for (const [who, status, headers] of refusals(harness, keys, operation)) {
    const answer = await send(asking(harness[operation.listener], headers), operation, call)
    expect([answer.status, answer.body.code], who).toEqual([status, status === 401 ? 'unauthorized' : 'forbidden'])
    if (status === 401) expect(answer.headers['www-authenticate'], who).toBe('Bearer realm="simherd"')
    expect(found(answer, call), who).toEqual([])
  }

  if (operation.headers.includes('X-Tenant-Id')) {
    const ask = askerOf(operation, theirs.tenant)
    const answer = await send(ask, operation, call)
    const where = `the other tenant: ${answer.status} ${JSON.stringify(answer.body)}`
    expect(found(answer, call), where).toEqual([])
    const namesIds = operation.path.includes('{') || spy(questionOf(operation, call), '').length > 0
    if (line.foreign === 'empty') {
      expect(answer, where).toMatchObject({ status: 200, body: { data: [], pagination: { totalItems: 0 } } })
    } else if (line.foreign !== undefined || namesIds) expect(answer.status, where).toBe(line.foreign ?? 404)
    else expect(answer.status, where).toBeLessThan(300)
    if (line.mixed !== undefined) {
      const mixed = await line.mixed(theirs, ours)
      const refused = await send(ask, operation, mixed)
      expect(refused.status, JSON.stringify(refused.body)).toBe(404)
      expect(found(refused, mixed)).toEqual([])
    }
  }
  expect(await fingerprintOf(harness, harness.tenant.id), 'nothing of ours has changed').toEqual(before)

  for (const scope of ['read', 'write', 'admin', 'billing'] as const) {
    if (operation.method !== 'GET' || !opensFor(operation.operationId)(scope)) continue
    const answer = await send(
      asking(harness[operation.listener], { authorization: `Bearer ${keys[scope]}` }),
      operation,
      call,
    )
    expect(answer.status, scope).toBe(200)
  }

  const requestId = `trail-${operation.operationId}`
  // What the other tenant got an answer for may be used up: an ICCID has one tenant.
  const own = line.foreign === undefined ? call : await line.call(ours)
  const answer = await send(askerOf(operation, ours.tenant), operation, own, { 'x-request-id': requestId })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  if (operation.method !== 'GET') await leavesItsTrail(estates, operation, requestId, answer.body.id)
}

interface AuditRow {
  readonly tenantId: string | null
  readonly keyId: string
  readonly action: string
  readonly subject: string
  readonly subjectId: string
  readonly before: object | null
  readonly after: object | null
}

/** The request has written the audit entries of its line and no others. @param made the id in its answer, if there is one */
async function leavesItsTrail(
  { harness, ours }: Estates,
  operation: Operation,
  requestId: string,
  made: string,
): Promise<void> {
  const { audit } = lineOf(operation)
  const { rows } = await sql<AuditRow>`
    select tenant_id as "tenantId", key_id as "keyId", action, subject, subject_id as "subjectId", before, after
      from audit_log where request_id = ${requestId} order by subject, id`.execute(harness.root)
  const subjects = typeof audit === 'object' ? audit : []
  expect(rows.map(({ subject }) => subject)).toEqual(subjects.toSorted())
  const key = operation.listener === 'outside' ? ours.tenant.key : harness.operatorKey
  const ofPlatform = operation.operationId === 'createTenant' ? made : null
  const owner = operation.headers.includes('X-Tenant-Id') ? ours.tenant.id : ofPlatform
  for (const row of rows) {
    expect(row).toMatchObject({ action: operation.operationId, keyId: key.split('_')[1], tenantId: owner })
    expect(row.subjectId).not.toBe('')
    // There is a value before or after, and the two differ.
    expect(row.before).not.toEqual(row.after)
    expect(JSON.stringify(row)).not.toMatch(/sim_[0-9a-f]{12}_/)
  }
}

/** Sent twice under one Idempotency-Key, a request has one effect. Another request under that key is refused. */
export async function isIdempotent({ harness, ours }: Estates, operation: Operation): Promise<void> {
  const line = lineOf(operation)
  const [call, other] = [await line.call(ours), await line.call(ours)]
  const ask = askerOf(operation, ours.tenant)
  const headers = { 'idempotency-key': `once ${operation.operationId}` }

  const first = await send(ask, operation, call, headers)
  expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
  expect(first.headers['idempotency-replayed']).toBeUndefined()
  const done = await fingerprintOf(harness, harness.tenant.id)

  const again = await send(ask, operation, call, headers)
  if (line.secret) expect(again).toMatchObject({ status: 409, body: { code: 'secret_already_shown' } })
  else {
    expect(again).toMatchObject({ status: first.status, body: first.body })
    expect(again.headers['idempotency-replayed']).toBe('true')
  }
  // If the operation's calls are all the same, a query parameter makes a different request.
  const another =
    questionOf(operation, other) === questionOf(operation, call) ? { ...call, query: { another: 1 } } : other
  const refused = await send(ask, operation, another, headers)
  expect(refused).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
  expect(await fingerprintOf(harness, harness.tenant.id), 'nothing is done by the second and the third').toEqual(done)
}
