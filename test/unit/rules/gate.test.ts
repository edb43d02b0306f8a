/** What the load gate refuses in the text of a rule file, before its parts are looked at. */
import { describe, expect, test } from 'vitest'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { fillMessage, placeholdersOf } from '../../../rules/alerts/message.ts'
import { faultWords } from '../../../rules/load/faults.ts'
import { loadRuleSet, loadStoredRules } from '../../../rules/load/load-rule-set.ts'
import { aFile, examplesOf, leaf, suspending } from './samples.ts'

const faultsOf = async (...files: RuleSource[]) => (await loadRuleSet(files)).faults
const when = (...all: unknown[]) => aFile({ conditions: { all } })

describe('the text of a rule file', () => {
  test('is refused with a name that occurs twice, of which the last would count', async () => {
    const { file, text } = aFile()
    const twice = text.replace('"level":"Warning"', '"level":"Info",\n"level":"Warning"')

    expect(await faultsOf({ file, text: twice })).toEqual([
      {
        file,
        pointer: '/event/params/level',
        at: { line: 2, column: 1 },
        got: '"level"',
        expected: 'each name once',
        hint: 'it stands in line 1 already, and again in line 2',
      },
    ])
  })

  test.each([
    ['a reordered tag', aFile({ match: { tenant: 'a\u202eb' } }), '/match/tenant', 'U+202E'],
    ['an isolated message', aFile({}, { message: 'x\u2066y' }), '/event/params/message', 'U+2066'],
    ['a marked operand', when(leaf('poolName', 'equal', 'a\u200f')), '/conditions/all/0/value', 'U+200F'],
  ])('is refused with %s', async (_, file, pointer, code) => {
    const fault = { pointer, hint: expect.stringContaining(code) }

    expect(await faultsOf(file)).toContainEqual(expect.objectContaining(fault))
  })

  test.each([
    ['lists', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['objects', '{"a":'.repeat(9000) + '1' + '}'.repeat(9000)],
    ['lists that never end', '['.repeat(60_000)],
  ])('is refused with endlessly nested %s', async (_, text) => {
    expect(await faultsOf({ file: 'sim/deep.json', text })).toMatchObject([
      { expected: 'brackets nested at most 32 deep' },
    ])
  })

  test.each([
    ['a comma too many', '{\n  "name": "a",\n}', 3],
    ['a word', '{\n  "name": yes\n}', 2],
    ['no end', '{\n  "name": "a"', 2],
    ['nothing', '', 1],
    ['a comment', '{\n  // name\n}', 2],
  ])('is no JSON with %s, and the line is named', async (_, text, line) => {
    const [fault] = await faultsOf({ file: 'sim/a.json', text })

    expect(fault).toMatchObject({ file: 'sim/a.json', expected: 'JSON', at: { line } })
  })

  test('is named by line and column in every fault', async () => {
    const { file, text } = when(leaf('usagPct', 'lessThan', 1))
    const [fault] = await faultsOf({ file, text: JSON.stringify(JSON.parse(text), null, 2) })

    expect(fault && faultWords(fault)).toBe(
      'line 8, column 9: got "usagPct", expected a fact of the subject pool (did you mean usagePct?)',
    )
  })

  const PATHS = '../etc/a.json /a.json sim//a.json sim/../a.json sim\\a.json C:/a.json sim/a.txt .a.json'
  test.each(PATHS.split(' '))('is not taken from the path %s', async (path) => {
    const [fault] = await faultsOf({ file: path, text: aFile().text })

    expect(fault).toMatchObject({ file: path, expected: expect.stringContaining('a path below the rules folder') })
  })

  test('is taken once from each path', async () => {
    expect(await faultsOf(aFile(), aFile())).toMatchObject([{ pointer: '', expected: 'each file once' }])
  })

  test.each<[string, (length: string) => Record<string, unknown>]>([
    ['for', (length) => ({ for: length })],
    ['keepFiring', (length) => ({ keepFiring: length })],
    ['suspend/grace', (grace) => suspending('all', 'renewal', { grace })],
  ])('is refused with a %s beyond any billing cycle', async (field, params) => {
    expect(await faultsOf(aFile({}, params('P367D')))).toMatchObject([
      { pointer: `/event/params/${field}`, expected: 'at most 366 days' },
    ])
    expect(await faultsOf(aFile({}, params('P366D')))).toEqual([])
  })
})

describe('a rule set with very many faults', () => {
  const strange = (name: string) => {
    const fields = Array.from({ length: 1500 }, (_, n) => [`subjekt${n}`, n])
    return { file: `sim/${name}.json`, text: JSON.stringify(Object.fromEntries(fields)) }
  }

  test('reports a hundred of each file', async () => {
    const faults = await faultsOf(strange('a'), strange('b'))

    for (const name of ['a', 'b']) expect(faults.filter(({ file }) => file === `sim/${name}.json`)).toHaveLength(100)
  })

  test('reports a thousand of all, and lets other work of the process run meanwhile', { timeout: 0 }, async () => {
    let others = 0
    const ticking = setInterval(() => (others += 1), 0)
    const faults = await faultsOf(...Array.from({ length: 300 }, (_, n) => strange(`a${n}`)))
    clearInterval(ticking)

    expect(faults).toHaveLength(1000)
    expect(others).toBeGreaterThan(10)
  })
})

describe('a message of many blanks', () => {
  const blanks = `{{${' '.repeat(300_000)}`

  test('is read and filled at once', () => {
    expect(placeholdersOf(blanks)).toEqual([])
    expect(fillMessage(blanks, {})).toBe(blanks)
    expect(fillMessage(`{{ ${' '.repeat(300_000)}usagePct   }}`, { usagePct: 80 })).toBe('80 %')
  })
})

describe('a stored rule set', () => {
  test('is not checked for what it was checked for when it came in', async () => {
    const file = aFile({ examples: examplesOf({ usagePct: 1 }, { usagePct: 79 }) })

    expect(await faultsOf(file)).toMatchObject([{ pointer: '/examples/0/fires' }])
    expect(await loadStoredRules([file])).toMatchObject({ faults: [], rules: [{ name: 'some-rule' }] })
  })

  test('stays where it was stored under a path that would no longer be taken', async () => {
    const file = { ...aFile(), file: 'North pools/some-rule.json' }

    expect(await faultsOf(file)).toMatchObject([{ file: file.file, pointer: '' }])
    expect(await loadStoredRules([file])).toMatchObject({ faults: [], rules: [{ file: file.file }] })
  })

  test('is refused with a rule that this build does not understand', async () => {
    const file = when(leaf('phaseOfMoon', 'equal', 1))

    expect((await loadStoredRules([file])).faults).toMatchObject([{ pointer: '/conditions/all/0/fact' }])
  })
})
