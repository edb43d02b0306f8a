import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { hearOfRules } from '../../../service/rules/hear-of-rules.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const FILE = 'sim/sim-overage.json'
const text = () => readFile(new URL(`../../../rules/${FILE}`, import.meta.url), 'utf8')

describe('rule sets', () => {
  test('keep their version when loaded again', async () => {
    const set = { files: [{ file: FILE, text: await text() }], author: 'a test' }

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
    const broken = (await text()).replace('"overageMB"', '"overageMb"').replace('"Critical"', '"Terrible"')

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
    const rule = JSON.parse(await text())
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
