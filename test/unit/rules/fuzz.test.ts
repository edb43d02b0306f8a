/** Hostile rule files, and as many hostile test files: none crashes or hangs the gate, and none is half accepted. */
import { describe, expect, test } from 'vitest'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { isStorable } from '../../../domain/text.ts'
import { readRuleFolder } from '../../../process/rule-files.ts'
import { fillMessage } from '../../../rules/alerts/message.ts'
import { compileSet } from '../../../rules/compile/compile-set.ts'
import { evaluateSubject } from '../../../rules/engine/evaluate-subject.ts'
import { faultWords, type RuleFault } from '../../../rules/load/faults.ts'
import { loadRuleSet, loadStoredRules } from '../../../rules/load/load-rule-set.ts'
import { readTestFiles } from '../../../rules/timeline/read-test-files.ts'
import { runTests } from '../../../rules/timeline/run-tests.ts'
import { cases } from '../../setup/cases.ts'
import { randomFrom, SEED } from '../../setup/seed.ts'
import { SLOWEST, timed } from '../../setup/timed.ts'
import { someFacts } from './compile/cases.ts'
import { HARMLESS_IN_TESTS, hostileFile } from './hostile-files.ts'
import { LADDERS, shippedFiles } from './samples.ts'

const FILES = cases(10_000)
/** A test file is played, which costs more than reading a rule. */
const TEST_FILES = cases(4000)
/** Most processor time of this thread for one file, in milliseconds. */
const MOST_MS = 1000 * SLOWEST

const keysOf = (pointer: string) => pointer.split('/').slice(1)

/** Each fault names the file, and a place in it. */
function expectPlaces(faults: readonly RuleFault[], { file, text }: RuleSource, said: string): void {
  expect(faults.length, said).toBeLessThanOrEqual(100)
  for (const fault of faults) {
    const { line, column } = fault.at ?? { line: 0, column: 0 }
    expect(fault, said).toMatchObject({ file, pointer: expect.any(String) })
    expect([line > 0, column > 0], `${JSON.stringify(fault)}, ${said}`).toEqual([true, true])
    expect(line, said).toBeLessThanOrEqual(text.split('\n').length)
    expect(keysOf(fault.pointer).length, said).toBeLessThanOrEqual(32)
    expect(faultWords(fault).length, said).toBeLessThan(1000)
  }
}

describe('a hostile rule file', () => {
  test('is refused with its place, or a rule like any other', { timeout: 0 }, async () => {
    const random = randomFrom(SEED)
    const shipped = [...shippedFiles(), ...LADDERS]
    const counts = { refused: 0, accepted: 0 }
    for (let n = 0; n < FILES; n += 1) {
      const source = hostileFile(shipped, random)
      const said = `seed ${SEED}, file ${n}: ${source.text.slice(0, 1500)}`
      const [done, ms] = await timed(() => loadRuleSet([source]))
      const { rules, faults } = done

      expect(ms, said).toBeLessThan(MOST_MS)
      if (faults.length > 0) {
        counts.refused += 1
        expect(rules, said).toEqual([])
        expectPlaces(faults, source, said)
      } else {
        counts.accepted += 1
        const [rule] = rules
        if (rule === undefined) throw new Error(`neither refused nor accepted: ${said}`)
        expect(isStorable(source.text), said).toBe(true)
        expect(await loadStoredRules([source]), said).toEqual({ rules: [rule], faults: [] })
        compileSet({ rules })
        const facts = someFacts(random)
        await evaluateSubject([rule], facts)
        const { message, resolvedMessage = '' } = rule.event.params
        for (const text of [message, resolvedMessage]) expect(fillMessage(text, facts).isWellFormed(), said).toBe(true)
      }
    }
    // Both happen often enough to mean something.
    expect(counts.accepted).toBeGreaterThan(FILES / 20)
    expect(counts.refused).toBeGreaterThan(FILES / 2)
  })
})

/** A test file of which values do not repeat and days are an eighth: it plays days in the place of a month and more. */
const shortened = ({ file, text }: RuleSource): RuleSource => ({
  file,
  text: text.replace(/x\d+/g, 'x1').replace(/\+(\d+)d/g, (_, days) => `+${Math.ceil(days / 8)}d`),
})

describe('a hostile test file', () => {
  test('is refused with its place, or played to an end', { timeout: 0 }, async () => {
    const random = randomFrom(SEED)
    const shipped = await readRuleFolder('')
    const { rules } = await loadRuleSet(shipped.rules)
    const tests = shipped.tests.map(shortened)
    const counts = { refused: 0, played: 0 }
    for (let n = 0; n < TEST_FILES; n += 1) {
      const source = hostileFile(tests, random, HARMLESS_IN_TESTS)
      const said = `seed ${SEED}, file ${n}: ${source.text.slice(0, 1500)}`
      const [done, ms] = await timed(() => readTestFiles([source], rules))
      const { files, faults } = done

      expect(ms, said).toBeLessThan(MOST_MS)
      expect(files.length, said).toBe(faults.length > 0 ? 0 : 1)
      expectPlaces(faults, source, said)
      if (faults.length > 0) counts.refused += 1
      else {
        counts.played += 1
        const [{ results }, playedMs] = await timed(() => runTests(files, []))
        expect(playedMs, said).toBeLessThan(MOST_MS)
        for (const { failures } of results) for (const { at } of failures) expect(at, said).toBeDefined()
      }
    }
    expect(counts.played).toBeGreaterThan(TEST_FILES / 20)
    expect(counts.refused).toBeGreaterThan(TEST_FILES / 2)
  })
})
