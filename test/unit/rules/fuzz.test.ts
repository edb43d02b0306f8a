/** Ten thousand hostile rule files: none crashes or hangs the gate, and none is half accepted. */
import { describe, expect, test } from 'vitest'
import { isStorable } from '../../../domain/text.ts'
import { fillMessage } from '../../../rules/alerts/message.ts'
import { compileSet } from '../../../rules/compile/compile-set.ts'
import { evaluateSubject } from '../../../rules/engine/evaluate.ts'
import { faultWords } from '../../../rules/load/faults.ts'
import { loadRuleSet, loadStoredRules } from '../../../rules/load/load.ts'
import { randomFrom, SEED, someFacts } from './compile/cases.ts'
import { hostileFile } from './hostile-files.ts'
import { LADDERS, shippedFiles } from './samples.ts'

const FILES = 10_000
/** Processor time of this process for one file, in milliseconds. */
const MOST_MS = 1000

const keysOf = (pointer: string) => pointer.split('/').slice(1)

describe('a hostile rule file', () => {
  test('is refused with its place, or a rule like any other', async () => {
    const random = randomFrom(SEED)
    const shipped = [...shippedFiles(), ...LADDERS]
    const counts = { refused: 0, accepted: 0 }
    for (let n = 0; n < FILES; n += 1) {
      const source = hostileFile(shipped, random)
      const said = `seed ${SEED}, file ${n}: ${source.text.slice(0, 1500)}`
      const before = process.cpuUsage()
      const { rules, faults } = await loadRuleSet([source])
      const { user, system } = process.cpuUsage(before)

      expect((user + system) / 1000, said).toBeLessThan(MOST_MS)
      if (faults.length > 0) {
        counts.refused += 1
        expect(rules, said).toEqual([])
        expect(faults.length, said).toBeLessThanOrEqual(100)
        for (const fault of faults) {
          const { line, column } = fault.at ?? { line: 0, column: 0 }
          expect(fault, said).toMatchObject({ file: source.file, pointer: expect.any(String) })
          expect([line > 0, column > 0], `${JSON.stringify(fault)}, ${said}`).toEqual([true, true])
          expect(line, said).toBeLessThanOrEqual(source.text.split('\n').length)
          expect(keysOf(fault.pointer).length, said).toBeLessThanOrEqual(32)
          expect(faultWords(fault).length, said).toBeLessThan(1000)
        }
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
  }, 300_000)
})
