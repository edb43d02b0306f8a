import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ruleCoverage } from '../../../cli/rules/coverage.ts'
import { explainRules } from '../../../cli/rules/explain.ts'
import { putRule, removeRule } from '../../../cli/rules/files.ts'
import { ruleHistory, showVersion } from '../../../cli/rules/history.ts'
import { activateVersion, loadRules, pushRules, rollBack } from '../../../cli/rules/load.ts'
import { shadowLog } from '../../../cli/rules/shadow-log.ts'
import { watchFolder } from '../../../cli/rules/watch.ts'
import type { ShadowAct } from '../../../domain/alerts/shadow-entry.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { forgetShadowEntries, insertShadowEntries } from '../../../service/alerts/rows/shadow-log.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import { soon } from '../../setup/soon.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { lines } = command
const SHIPPED = new URL('../../../rules/sim/', import.meta.url)
/** Copies some of the shipped rules with their tests, which take seconds. */
const copyTo = (folder: string) =>
  cp(SHIPPED, folder, { recursive: true, filter: (path) => /(sim|sim-(overage|silent)(\.test)?\.json)\/?$/.test(path) })
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simherd-rules-'))
  await copyTo(join(folder, 'sim'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('rules', () => {
  test('are loaded, pushed, activated and rolled back', async () => {
    const { settings, harness } = command
    await loadRules(settings, folder, { reason: 'the first' })
    const first = Number(/version (\d+)/.exec(lines.at(-1) ?? '')?.[1])
    for (const file of ['sim-silent.json', 'sim-silent.test.json']) await rm(join(folder, 'sim', file))
    harness.now += 1000
    await pushRules(settings, folder, {})
    const second = first + 1
    await activateVersion(settings, second, { expect: first })
    harness.now += 1000
    await rollBack(settings, { reason: 'it was too quiet' })
    const done = lines.splice(0)
    await ruleHistory(settings, { output: 'text' })
    const history = lines.splice(0).join('\n')
    await showVersion(settings, second, { output: 'text' })

    expect(done).toEqual([
      expect.stringMatching(
        `version ${first} is in force: 2 files, 2 test files passed; every subject is evaluated anew`,
      ),
      expect.stringMatching(
        `version ${second}: 1 file, 1 test file passed, not in force; "npx simherd rules activate ${second}" does that`,
      ),
      `version ${second} is in force; every subject is evaluated anew`,
      `version ${first} is in force; every subject is evaluated anew`,
    ])
    expect(history).toMatch(new RegExp(`${first} +activated +\\S+ +it was too quiet`))
    expect(lines.join('\n')).toContain('== sim/sim-overage.json')
    expect(lines.join('\n')).not.toContain('== sim/sim-silent.json')
  })

  test('are not loaded over what somebody else has loaded', async () => {
    const load = loadRules(command.settings, folder, { expect: 999_999 })

    await expect(load).rejects.toMatchObject({ exitCode: 4, message: expect.stringContaining('is in force') })
  })

  test('are refused with a file that is not UTF-8, before anything is sent', async () => {
    const other = await mkdtemp(join(tmpdir(), 'simherd-rules-'))
    await mkdir(join(other, 'sim'))
    await writeFile(join(other, 'sim/latin.json'), '{\n"name": "Zürich"}', 'latin1')
    const refused = { exitCode: 1, message: expect.stringMatching(/^sim\/latin\.json:2:1: .*is not UTF-8/) }

    await expect(loadRules(command.settings, other, {})).rejects.toMatchObject(refused)
    await expect(pushRules(command.settings, other, {})).rejects.toMatchObject(refused)
    await expect(putRule(command.settings, join(other, 'sim/latin.json'), {})).rejects.toMatchObject(refused)
    await rm(other, { recursive: true })
  })

  test('are refused with every fault', async () => {
    await writeFile(join(folder, 'sim/bad.json'), '{}')

    await expect(pushRules(command.settings, folder, {})).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('sim/bad.json'),
    })
  })
})

describe('a watched folder', () => {
  test('is put in force as it is saved, never over another author', async () => {
    const { settings, harness } = command
    const watched = await mkdtemp(join(tmpdir(), 'simherd-rules-'))
    await copyTo(join(watched, 'sim'))
    const test = join(watched, 'sim/sim-silent.test.json')
    const passing = await readFile(test, 'utf8')
    await loadRules(settings, watched, {})
    const edit = async (description: string) => {
      const path = join(watched, 'sim/sim-silent.json')
      await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), description }))
    }
    lines.length = 0
    const ending = new AbortController()
    const ended = watchFolder(watched, { load: true }, { settings: () => settings, signal: ending.signal })
    const refused = expect(ended).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('rules_moved'),
    })
    await soon(() => expect(lines.at(-1)).toMatch(/was in force already$/))
    expect(lines.at(-2)).toMatch(/^\d+ files: no faults, \d+ tests passed$/)
    await writeFile(test, passing.replace('"fired": "sim-silent"', '"resolved": "sim-silent"'))
    await edit('Said better.')
    await soon(() => expect(lines.at(-1)).toBe('tests fail: see above'))
    expect(lines.at(-2)).toMatch(/^sim\/sim-silent\.test\.json:\d+:\d+: .+: expected .+, got .+$/)
    await writeFile(test, passing)
    await soon(() => expect(lines.at(-1)).toMatch(/is in force; every subject is evaluated anew$/))
    // Once: not as long as a test failed.
    expect(lines.filter((line) => line.includes('every subject'))).toHaveLength(1)
    await harness.operate('POST', '/internal/rules', { files: await readRuleFiles(''), author: 'Bob' })
    await edit('Said best.')
    await refused
    ending.abort()
    await rm(watched, { recursive: true })

    const { body } = await harness.operate('GET', '/internal/rules')
    expect(body.rules).toHaveLength((await readRuleFiles('')).length)
  })
})

describe('one rule', () => {
  test('is put and removed, unless another version is in force', async () => {
    const { settings } = command
    const silent = new URL('sim-silent.json', SHIPPED).pathname
    await loadRules(settings, folder, {}).catch(() => undefined)
    await removeRule(settings, 'sim-overage', { reason: 'a try' })
    await putRule(settings, silent, {})
    lines.length = 0
    await putRule(settings, silent, { as: 'sim/sim-silent.json' })

    expect(lines).toEqual([expect.stringMatching(/^version \d+ was in force already$/)])
    await expect(putRule(settings, silent, { expect: 999_999 })).rejects.toMatchObject({ exitCode: 4 })
    await expect(removeRule(settings, 'sim-overage', {})).rejects.toMatchObject({ exitCode: 3 })
  })
})

describe('an explanation', () => {
  test('is printed for a SIM and for the tenant', async () => {
    const { settings, harness } = command
    const sims = [{ iccid: '8999900000000007770' }]
    const { body } = await harness.tenant.inside('POST', '/internal/sims', { sims })
    const flags = { tenant: harness.tenant.id, output: 'text' } as const
    lines.length = 0
    await explainRules(settings, { ...flags, sim: body.created[0].id })
    const ofSim = lines.splice(0).join('\n')
    await explainRules(settings, flags)

    expect(ofSim).toMatch(/^sim \d+ \(8999900000000007770\) at 20\d\d-/)
    expect(ofSim).toMatch(/\n {2}because {3}match.status asks for Active or Suspended; the SIM has Unprovisioned\./)
    expect(lines[0]).toMatch(/^tenant /)
  })

  test('names what is not there', async () => {
    const asked = explainRules(command.settings, { tenant: command.harness.tenant.id, output: 'text', entry: 999_999 })

    await expect(asked).rejects.toMatchObject({ exitCode: 3, message: expect.stringContaining('no entry 999999') })
  })
})

describe('the coverage of an estate', () => {
  test('is printed by reason and by rule', async () => {
    const { settings, harness } = command
    const sims = [{ iccid: '8999900000000007788', tag: 'a stock SIM' }]
    await harness.other.inside('POST', '/internal/sims', { sims })
    const flags = { tenant: harness.other.id, output: 'text' } as const
    lines.length = 0
    await ruleCoverage(settings, flags)
    const text = lines.splice(0)
    await ruleCoverage(settings, { ...flags, days: 7, output: 'json' })
    const json = JSON.parse(lines.splice(0).join('\n'))

    expect(text[0]).toMatch(/^version \d+$/)
    expect(text).toContainEqual(expect.stringMatching(/^sim +1 +0 +1$/))
    expect(text).toContainEqual(
      expect.stringMatching(
        /^sim +1 +not provisioned, and no rule’s match fits such a SIM +\d+: 8999900000000007788 \(a stock SIM\)$/,
      ),
    )
    expect(text).toContainEqual(expect.stringMatching(/^sim-silent( +\S+)( +0){8}$/))
    expect(text.at(-1)).toMatch(/^never fired \(its log is empty\): .*sim-silent/)
    expect(json).toMatchObject({
      since: new Date(harness.now - 7 * 86_400_000).toISOString(),
      logSince: null,
      subjects: [{ kind: 'sim', total: 1, withRule: 0, without: [{ reason: 'notProvisioned', count: 1 }] }, {}, {}, {}],
    })
  })

  test.each(['0', '367', 'x'])('is not of %s days', async (days) => {
    const { status, body } = await command.harness.tenant.inside('GET', `/internal/rules/coverage?days=${days}`)

    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(JSON.stringify(body.errors)).toContain('days')
  })
})

describe('the shadow log', () => {
  test('is shown newest first, by rule and by what it would have done', async () => {
    const { settings, harness } = command
    const entry = (rule: string, does: ShadowAct) => ({
      dedupeKey: `${rule}/sim/7/fired`,
      does,
      rule,
      ruleVersion: 1,
      simId: 7,
      poolId: null,
      level: LogLevel.Warning,
      message: `SIM 7 by ${rule}`,
      cycleKey: '2026-11',
    })
    await inTenant(harness.store, harness.tenant.id, (tx) =>
      insertShadowEntries(tx, [entry('sim-a', 'log'), entry('sim-a', 'mail'), entry('sim-b', 'log')]),
    )
    const shown = async (flags: { rule?: string; version?: number; does?: ShadowAct }) => {
      lines.length = 0
      await shadowLog(settings, { tenant: harness.tenant.id, output: 'text', ...flags })
      return lines.slice(2).map((line) => line.replace(/^\S+ \S+ +/, '').replaceAll(/ +/g, ' '))
    }

    expect(await shown({})).toEqual([
      'sim-b 1 log SIM 7 by sim-b',
      'sim-a 1 mail SIM 7 by sim-a',
      'sim-a 1 log SIM 7 by sim-a',
    ])
    expect(await shown({ rule: 'sim-a', does: 'mail' })).toEqual(['sim-a 1 mail SIM 7 by sim-a'])
    await shown({ rule: 'sim-c' })
    expect(lines).toEqual(['no rule in shadow would have done anything'])
    expect([(await shown({ version: 1 })).length, (await shown({ version: 2 })).length]).toEqual([3, 0])
  })

  test('is forgotten after its time, by cursor until then', async () => {
    const { harness } = command
    const ask = (query: string) => harness.tenant.inside('GET', `/internal/rules/shadow-log?${query}`)
    const first = await ask('pageSize=2')
    const next = /cursor=(\w+)/.exec(String(first.headers.link))?.[1]
    const rest = await ask(`pageSize=2&cursor=${next}`)
    const forget = (before: number) => inPlatform(harness.store, (tx) => forgetShadowEntries(tx, new Date(before), 2))
    const now = harness.now

    expect([first.body.data.length, rest.body.data.length]).toEqual([2, 1])
    expect([await forget(now), await forget(now + 1), await forget(now + 1)]).toEqual([0, 2, 1])
  })
})

test('changes of the rules answer programs with JSON', async () => {
  const { settings } = command
  lines.splice(0)
  await rollBack(settings, { output: 'json' })

  expect(JSON.parse(lines.splice(0).join('\n'))).toEqual({ version: expect.any(Number), changed: true })
})
