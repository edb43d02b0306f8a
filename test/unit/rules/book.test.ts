/** The blocks of the book of rules. What is typed in it is run by `test/e2e/book-of-rules.test.ts`. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { AlertPhase } from '../../../rules/alerts/alert-state.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { type Block, blocksOf } from '../../setup/console.ts'
import { aFile } from './samples.ts'

const ROOT = new URL('../../../', import.meta.url)
const blocks = blocksOf(readFileSync(new URL('docs/rules.md', ROOT), 'utf8'))
const of = (isOne: (info: string) => boolean): [string, Block][] =>
  blocks.filter(({ info }) => isOne(info)).map((block) => [`line ${block.line}`, block])

test('every block is run by a test', () => {
  expect(blocks.filter(({ info }) => !/^(console|json( \S+)?|text)$/.test(info))).toEqual([])
  expect(blocks.filter(({ info }) => info === 'console').length).toBeGreaterThan(5)
})

describe('a file at', () => {
  const saved = of((info) => info.startsWith('json my-rules/') && !info.endsWith('.test.json'))

  test.each(saved)('%s is that of the example, if it has one', (_, { info, text }) => {
    const [, path = ''] = info.split(' my-rules/')
    const example = new URL(`examples/rules-repository/${path}`, ROOT)
    const shown = text.replace('smsCont', 'smsCount')

    expect(shown).toBe(existsSync(example) ? readFileSync(example, 'utf8') : shown)
    expect(() => JSON.parse(text)).not.toThrow()
  })

  test('is accepted beside the others', async () => {
    const files = saved.map(([, { info, text }]) => ({
      file: info.split(' my-rules/rules/')[1] ?? '',
      text: text.replace('smsCont', 'smsCount'),
    }))

    expect((await loadRuleSet(files)).faults).toEqual([])
  })
})

test.each(of((info) => info === 'json'))('the part of a rule at %s is accepted', async (_, { text }) => {
  expect((await loadRuleSet([aFile(JSON.parse(`{${text}}`))])).faults).toEqual([])
})

test.each(of((info) => info === 'text'))('the life of an alert at %s has its phases', (_, { text }) => {
  const phases: AlertPhase[] = ['inactive', 'pending', 'firing', 'recovering', 'resolved', 'pending']

  expect(text.match(new RegExp(phases.join('|'), 'g'))).toEqual(phases)
})
