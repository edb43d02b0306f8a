/** Backtests that operators ask for: what is answered, and what is refused. No worker runs here. */
import { afterEach, describe, expect, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { times, useHarness } from '../harness.ts'

const harness = useHarness()
const shipped = await readRuleFiles('')
const PATH = '/internal/rules/backtests'
const ask = (body: object) => harness.operate('POST', PATH, body)
const ours = () => ({ tenantId: harness.tenant.id })

async function loaded(): Promise<number> {
  return (await harness.operate('POST', '/internal/rules', { files: shipped, author: 'the tests' })).body.version
}

afterEach(async () => {
  const { data } = (await harness.operate('GET', PATH)).body
  for (const { id } of data) await harness.operate('DELETE', `${PATH}/${id}`)
})

test('asks before any rules are in force', async () => {
  expect(await ask(ours())).toMatchObject({ status: 404, body: { code: 'rules_version_not_found' } })
})

describe('a backtest', () => {
  test('is queued, listed, read and removed', async () => {
    const version = await loaded()
    const made = await ask({ ...ours(), version, cycles: 2 })
    expect(made.status).toBe(202)
    const { id } = made.body
    const queued = {
      id,
      tenantId: harness.tenant.id,
      version,
      cycles: 2,
      state: 'queued',
      actor: expect.stringMatching(/^key:/),
      actorName: 'tests',
      askedAt: new Date(harness.now).toISOString(),
      startedAt: null,
      endedAt: null,
      records: null,
      recordsDone: 0,
      failure: null,
    }
    expect(made.body).toEqual(queued)
    expect((await harness.operate('GET', `${PATH}/${id}`)).body).toEqual({ ...queued, report: null })
    const files = (await ask({ ...ours(), files: shipped })).body
    expect(files).toMatchObject({ version: null, cycles: 1 })
    const list = { data: [files, queued], pagination: { totalItems: 2 } }
    expect((await harness.operate('GET', PATH)).body).toMatchObject(list)
    expect((await harness.operate('GET', `${PATH}?pageSize=1&page=2`)).body.data).toEqual([queued])
    const theirs = (await ask({ tenantId: harness.other.id })).body
    const of = (tenantId: string) => harness.operate('GET', `${PATH}?tenantId=${tenantId}`)
    expect((await of(harness.tenant.id)).body).toMatchObject(list)
    expect((await of(harness.other.id)).body.data).toEqual([theirs])
    expect((await of('nobody')).body).toMatchObject({ data: [], pagination: { totalItems: 0 } })
    expect(await harness.operate('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 200, body: { id } })
    const gone = { code: 'backtest_not_found', detail: `There is no backtest ${id}.` }
    for (const method of ['GET', 'DELETE']) {
      expect(await harness.operate(method, `${PATH}/${id}`)).toMatchObject({ status: 404, body: gone })
    }
  })

  test('is of the version in force where none is named', async () => {
    const version = await loaded()
    expect((await ask(ours())).body).toMatchObject({ version, cycles: 1 })
  })

  test.each([
    ['a tenant that is not there', { tenantId: 'nobody' }, 404, 'tenant_not_found', '/tenantId'],
    ['no tenant', { tenantId: undefined }, 400, 'invalid_request', 'tenantId'],
    ['a version that is not there', { version: 99 }, 404, 'rules_version_not_found', ''],
    ['four cycles', { cycles: 4 }, 400, 'invalid_request', '/cycles'],
    ['a version and files', { version: 1, files: shipped }, 400, 'invalid_request', '/version'],
    ['files with a fault', { files: [{ file: 'sim/x.json', text: '{' }] }, 422, 'rules_rejected', 'sim/x.json#'],
  ])('is refused for %s', async (_what, body, status, code, where) => {
    await loaded()
    const answer = await ask({ ...ours(), ...body })
    expect(answer).toMatchObject({ status, body: { code } })
    expect(JSON.stringify(answer.body.errors ?? '')).toContain(where)
    expect((await harness.operate('GET', PATH)).body.data).toEqual([])
  })

  test('waits with nineteen others at most', async () => {
    await loaded()
    for (const { status } of await times(20, () => ask(ours()))) expect(status).toBe(202)
    expect(await ask(ours())).toMatchObject({ status: 409, body: { code: 'backtest_limit' } })
  })
})
