import { readFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { hearOfRules } from '../../../service/rules/hear-of-rules.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const FILE = 'sim/sim-overage.json'
const textOf = (file: string) => readFile(new URL(`../../../rules/${file}`, import.meta.url), 'utf8')
const TESTS = 'sim/sim-overage.test.json'
const titleOf = ({ title }: { title: string }) => title
const overage = await textOf(FILE)
const shipped = JSON.parse(overage)

let drawn = 0
/** A set that no version has. */
const aSet = () => [{ file: FILE, text: JSON.stringify({ ...shipped, description: `Set ${++drawn} of the tests.` }) }]
const post = (path: string, body: object) =>
  harness.operate('POST', `/internal/rules${path}`, { author: 'Ann', ...body })
const load = async (files = aSet()) => (await post('', { files })).body.version as number
const push = async (files = aSet()) => (await post('/versions', { files })).body.version as number
const inForce = async () => (await harness.operate('GET', '/internal/rules')).body.version

describe('rule sets', () => {
  test('keep their version when loaded again', async () => {
    const set = { files: [{ file: FILE, text: overage }], author: 'a test' }

    const first = await harness.operate('POST', '/internal/rules', set)
    const again = await harness.operate('POST', '/internal/rules', set)
    const inForce = await harness.operate('GET', '/internal/rules')

    expect(first.body).toEqual({ version: expect.any(Number), changed: true })
    expect(again.body).toEqual({ version: first.body.version, changed: false })
    const rules = [{ name: 'sim-overage', subject: 'sim', file: FILE, stage: 'enforce' }]
    expect(inForce.body).toMatchObject({ version: first.body.version, refused: null, rules })
  })

  test('are refused with every fault, changing nothing', async () => {
    const before = (await harness.operate('GET', '/internal/rules')).body.version
    const broken = overage.replace('"overageMB"', '"overageMb"').replace('"Critical"', '"Terrible"')

    const set = { files: [{ file: FILE, text: broken }], author: 'x' }
    const answer = await harness.operate('POST', '/internal/rules', set)

    expect([answer.status, answer.body.code]).toEqual([422, 'rules_rejected'])
    const details = answer.body.errors.map(({ detail }: { detail: string }) => detail).join('\n')
    expect(details).toContain('overageMB')
    expect(details).toContain('Terrible')
    expect((await harness.operate('GET', '/internal/rules')).body.version).toBe(before)
    const events = (await harness.tenant.ask('GET', '/api/events?type=2')).body.data
    expect(events.filter(({ title }: { title: string }) => /reject/i.test(title))).toEqual([])
  })

  test('record an event for each tenant they affect', async () => {
    const rule = shipped
    const named = (name: string, more: object = {}, params: object = {}) => {
      const { event } = rule
      const changed = { ...rule, name, ...more, event: { ...event, params: { ...event.params, ...params } } }
      return { file: `sim/${name}.json`, text: JSON.stringify(changed) }
    }
    const load = (...files: object[]) => harness.operate('POST', '/internal/rules', { files, author: 'Ada Lovelace' })
    const changes = async (tenant: typeof harness.tenant) => {
      await inTenant(harness.store, tenant.id, hearOfRules)
      const { data } = (await tenant.ask('GET', '/api/events?type=2')).body
      expect(JSON.stringify(data)).not.toContain('Ada')
      return data
        .filter(({ title }: { title: string }) => title === 'Watchdog rules changed')
        .map(({ description }: { description: string }) => description.replace(/^.*: /, ''))
    }
    const ours = { match: { ...rule.match, tenant: harness.tenant.id } }
    await load(named('kept'))
    const before = [(await changes(harness.tenant)).length, (await changes(harness.other)).length]
    const heard = async () => (await harness.operate('GET', '/internal/rules')).body.heard.tenants
    const all = await heard()

    await load(named('kept'), named('secret', ours), named('tried', {}, { stage: 'shadow' }))
    await load(named('kept', { description: 'said better' }), named('secret', ours, { level: 'Warning' }))
    await load(named('kept', {}, { level: 'Warning' }))
    const unheard = await heard()

    expect((await changes(harness.tenant)).slice(0, -(before[0] ?? 0))).toEqual([
      'kept changed, secret is gone.',
      'secret changed.',
      'secret is new.',
    ])
    expect((await changes(harness.other)).slice(0, -(before[1] ?? 0))).toEqual(['kept changed.'])
    expect([unheard, await heard()]).toEqual([0, all])
  })
})

describe('one file of the rules', () => {
  const SILENT = 'sim/sim-silent.json'
  const silent = () => textOf(SILENT)
  const pathOf = (file: string) => `/internal/rules/files/${encodeURIComponent(file)}`
  const put = async (headers = {}, text?: string, file = SILENT) =>
    harness.operate('PUT', pathOf(file), { text: text ?? (await silent()), author: 'Ann' }, headers)
  const remove = (headers = {}) => harness.operate('DELETE', `${pathOf(SILENT)}?author=Ann`, undefined, headers)
  const names = async () =>
    (await harness.operate('GET', '/internal/rules')).body.rules.map(({ name }: { name: string }) => name)
  const etag = async () => String((await harness.operate('GET', '/internal/rules')).headers.etag)

  test('is put beside the others, replaced, and taken out', async () => {
    await load()
    const seen = await etag()

    expect(await put({ 'if-match': seen })).toMatchObject({ status: 200, body: { changed: true } })
    expect(await names()).toEqual(['sim-overage', 'sim-silent'])
    expect((await put()).body).toMatchObject({ changed: false })
    expect((await put({}, `${await silent()} `)).body).toMatchObject({ changed: true })
    expect(await remove({ 'if-match': await etag() })).toMatchObject({ status: 200, body: { changed: true } })
    expect(await names()).toEqual(['sim-overage'])
  })

  test('takes its own tests along', async () => {
    await load()
    const tests = SILENT.replace('.json', '.test.json')
    const early = await put({}, await textOf(tests), tests)
    await put()
    await put({}, await textOf(tests), tests)
    const filesNow = async () =>
      (await harness.operate('GET', `/internal/rules/versions/${await inForce()}`)).body.files.map(
        ({ file }: { file: string }) => file,
      )
    const between = await filesNow()
    const loose = await put({}, await textOf(tests), 'sim/loose.test.json')
    const missing = await harness.operate('DELETE', `${pathOf('sim/loose.json')}?author=Ann`)
    await harness.operate('DELETE', `${pathOf('sim/loose.test.json')}?author=Ann`)
    await remove()

    expect(early).toMatchObject({ status: 422, body: { code: 'rules_rejected' } })
    expect(between).toEqual([FILE, SILENT, tests])
    expect(loose.status).toBe(200)
    expect(missing).toMatchObject({ status: 404, body: { code: 'rule_file_not_found' } })
    expect(await filesNow()).toEqual([FILE])
  })

  test('is left where somebody has changed the rules since', async () => {
    await load()
    const seen = await etag()
    await load()
    const refused = { status: 412, body: { code: 'precondition_failed' } }

    expect(await put({ 'if-match': seen })).toMatchObject(refused)
    expect(await remove({ 'if-match': seen })).toMatchObject(refused)
    expect(await names()).toEqual(['sim-overage'])
  })

  test('is refused with its faults, and where it is not there', async () => {
    await load()

    expect(await put({}, '{}')).toMatchObject({ status: 422, body: { code: 'rules_rejected' } })
    expect(await remove()).toMatchObject({ status: 404, body: { code: 'rule_file_not_found' } })
  })

  test('is changed by one of two at once', async () => {
    await load()
    const seen = await etag()
    const texts = await Promise.all([1, 2].map(async (n) => (await silent()) + ' '.repeat(n)))
    const answers = await Promise.all(texts.map((text) => put({ 'if-match': seen }, text)))

    expect(answers.map(({ status }) => status).toSorted()[0]).toBe(200)
    expect([409, 412]).toContain(answers.map(({ status }) => status).toSorted()[1])
  })

  test('is put beside those of others at the same time', async () => {
    await load()
    const OTHERS = [SILENT, 'sim/sim-never-seen.json', 'sim/sim-burn-rate.json']
    const answers = await Promise.all(OTHERS.map(async (file) => put({}, await textOf(file), file)))

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await names()).toEqual(['sim-burn-rate', 'sim-never-seen', 'sim-overage', 'sim-silent'])
  })
})

describe('versions of the rules', () => {
  let before = 0
  beforeEach(async () => {
    harness.now += 1000
    before = await load()
  })

  test('come in without being put in force', async () => {
    const files = aSet()
    const version = await push(files)

    expect(await inForce()).toBe(before)
    expect(await push(files)).toBe(version)
    const { body } = await harness.operate('GET', `/internal/rules/versions/${version}`)
    expect(body).toMatchObject({ version, author: 'Ann', reason: null, activatedAt: null, files })
  })

  test('come with their tests, which must pass', async () => {
    const [rule = { file: '', text: '' }] = aSet()
    const tests = { file: TESTS, text: await textOf(TESTS) }
    const version = await push([rule, tests])
    const { body } = await harness.operate('GET', `/internal/rules/versions/${version}`)
    const failing = { ...tests, text: tests.text.replace('"at": "+11d"', '"at": "+12d"') }
    const [refused, named] = [
      await post('', { files: [rule, failing] }),
      await post('', { files: [rule, { ...tests, text: tests.text.replace('"sim-overage"', '"sim-under"') }] }),
    ]

    expect(body.files).toEqual([rule, tests])
    expect(body.tests).toEqual([
      { file: TESTS, rules: ['sim-overage'], titles: JSON.parse(tests.text).tests.map(titleOf) },
    ])
    expect([refused.status, named.status]).toEqual([422, 422])
    expect(refused.body.errors[0]).toEqual({
      pointer: expect.stringContaining(`${TESTS}#/tests/0/expect/`),
      detail: expect.stringMatching(
        /^line \d+, column \d+: got \+11d .*, expected .*"\+12d".* \(test "suspends, .*"\)$/,
      ),
    })
    expect(named.body.errors[0].pointer).toBe(`${TESTS}#/rules/0`)
    expect(await inForce()).toBe(before)
  })

  test('are put in force once', async () => {
    const version = await push()
    const activate = () => post(`/versions/${version}/activate`, { reason: 'a try' })

    expect((await activate()).body).toEqual({ version, changed: true })
    expect(await inForce()).toBe(version)
    expect((await activate()).body).toEqual({ version, changed: false })
  })

  test('are not put in force with a fault', async () => {
    const broken = [{ file: FILE, text: JSON.stringify({ ...shipped, subject: 'van' }) }]

    expect(await post('/versions', { files: broken })).toMatchObject({ status: 422, body: { code: 'rules_rejected' } })
    expect(await inForce()).toBe(before)
  })

  test('give way to the one before, and to any other', async () => {
    const [second, third] = [await load(), await load()]

    expect((await post('/rollback', {})).body).toEqual({ version: second, changed: true })
    expect((await post('/rollback', { to: before })).body).toEqual({ version: before, changed: true })
    expect((await post('/rollback', { to: third, expect: before })).body).toEqual({ version: third, changed: true })
    expect(await inForce()).toBe(third)
  })

  test.each([
    ['a load', () => post('', { files: aSet(), expect: before + 1000 }), 409, 'rules_moved'],
    ['a rollback', () => post('/rollback', { expect: before + 1000 }), 409, 'rules_moved'],
    ['an activation', async () => post(`/versions/${await push()}/activate`, { expect: 0 }), 409, 'rules_moved'],
    ['what is not there', () => post('/versions/999999/activate', {}), 404, 'rules_version_not_found'],
    ['a rollback to nothing', () => post('/rollback', { to: 999_999 }), 404, 'rules_version_not_found'],
  ])('refuse %s that expects otherwise', async (_, ask, status, code) => {
    expect(await ask()).toMatchObject({ status, body: { code } })
    expect(await inForce()).toBe(before)
  })

  test('let one of two authors through', async () => {
    const answers = await Promise.all([1, 2].map(() => post('', { files: aSet(), expect: before })))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const [winner] = answers.filter(({ status }) => status === 200)
    expect(await inForce()).toBe(winner?.body.version)
  })

  test('have a history: who, when and why', async () => {
    harness.now += 1000
    const version = await push()
    harness.now += 1000
    await post(`/versions/${version}/activate`, { author: 'Bob', reason: 'Vans are told at 80 %' })
    await post('/rollback', { reason: 'Too many mails' })
    const { data } = (await harness.operate('GET', '/internal/rules/versions?pageSize=3')).body

    expect(data).toMatchObject([
      { change: 'activated', version: before, author: 'Ann', reason: 'Too many mails' },
      { change: 'activated', version, author: 'Bob', reason: 'Vans are told at 80 %' },
      { change: 'pushed', version, author: 'Ann', reason: null },
    ])
    const known = { actor: expect.stringMatching(/^key:/), actorName: 'tests', requestId: expect.any(String) }
    expect(data).toMatchObject([known, known, known])
    const ofVersion = (await harness.operate('GET', `/internal/rules/versions?version=${version}`)).body
    expect(ofVersion).toMatchObject({ data: data.slice(1), pagination: { totalItems: 2 } })
  })

  test('have the name of the key as author, if none is given', async () => {
    const [files] = [aSet()]
    const { version } = (await harness.operate('POST', '/internal/rules/versions', { files })).body
    await harness.operate('POST', `/internal/rules/versions/${version}/activate`, {})
    const { data } = (await harness.operate('GET', `/internal/rules/versions?version=${version}`)).body

    expect(data).toMatchObject([
      { change: 'activated', author: 'tests' },
      { change: 'pushed', author: 'tests' },
    ])
  })
})

describe('differences of versions', () => {
  const { suspend: _, ...params } = shipped.event.params
  const event = { ...shipped.event, params: { ...params, actions: ['log'], stage: 'notify' } }
  const notified = () =>
    aSet().map(({ file, text }) => ({ file, text: JSON.stringify({ ...JSON.parse(text), event }) }))
  const differences = async (version: number, query = '') =>
    harness.operate('GET', `/internal/rules/versions/${version}/differences${query}`)

  test('are to the version in force, or of that to the one before', async () => {
    const [first, second] = [await load(), await load(notified())]
    const pushed = await push()
    const changed = { name: 'sim-overage', change: 'changed' }
    const stage = { aspect: 'what', field: 'stage', before: ['notify'], after: ['enforce'] }

    expect((await differences(pushed)).body).toMatchObject({ version: pushed, since: second, changes: [changed] })
    expect((await differences(pushed)).body.changes[0].differences).toContainEqual(stage)
    expect((await differences(second)).body).toMatchObject({ version: second, since: first, changes: [changed] })
    expect((await differences(second, `?since=${second}`)).body).toEqual({
      version: second,
      since: second,
      changes: [],
    })
    expect((await harness.operate('GET', '/internal/rules')).body.previous).toBe(first)
  })

  test('are not to be had of a version that this build refuses, or that is not there', async () => {
    const accepted = await load()
    const foreign = [{ file: FILE, text: overage.replaceAll('overageMB', 'overageToday') }]
    const refused = await putForeignRules(harness.root, foreign, new Date(harness.now))

    expect((await differences(refused)).body).toMatchObject({
      code: 'rules_rejected',
      detail: expect.stringContaining(`Version ${refused} of the rules has`),
    })
    expect((await differences(accepted)).body).toEqual({ version: accepted, since: accepted, changes: [] })
    expect((await differences(999_999)).body).toMatchObject({ code: 'rules_version_not_found' })
    await load()
  })
})
