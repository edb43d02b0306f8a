import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ruleHistory, showVersion } from '../../../cli/rules/history.ts'
import { activateVersion, loadRules, pushRules, rollBack } from '../../../cli/rules/load.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { lines } = command
const SHIPPED = new URL('../../../rules/sim/', import.meta.url)
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simherd-rules-'))
  await cp(SHIPPED, join(folder, 'sim'), { recursive: true })
})
afterAll(() => rm(folder, { recursive: true }))

describe('rules', () => {
  test('are loaded, pushed, activated and rolled back', async () => {
    const { settings, harness } = command
    await loadRules(settings, folder, { reason: 'the first' })
    const first = Number(/version (\d+)/.exec(lines.at(-1) ?? '')?.[1])
    await rm(join(folder, 'sim/sim-silent.json'))
    harness.now += 1000
    await pushRules(settings, folder, {})
    const second = first + 1
    harness.now += 1000
    await activateVersion(settings, second, { expect: first })
    harness.now += 1000
    await rollBack(settings, { reason: 'it was too quiet' })
    const done = lines.splice(0)
    await ruleHistory(settings, { output: 'text' })
    const history = lines.splice(0).join('\n')
    await showVersion(settings, second, { output: 'text' })

    expect(done).toEqual([
      expect.stringMatching(`version ${first} is in force: \\d+ files; every subject is evaluated anew`),
      expect.stringMatching(
        `version ${second}: \\d+ files, not in force; "simherd rules activate ${second}" does that`,
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

  test('are refused with every fault', async () => {
    await writeFile(join(folder, 'sim/bad.json'), '{}')

    await expect(pushRules(command.settings, folder, {})).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('sim/bad.json'),
    })
  })
})
