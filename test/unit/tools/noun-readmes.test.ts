import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const MOST_LINES = 40
const HEADINGS = ['For', 'Words', 'Walk', 'Files', 'Tables', 'Never', 'Not here', 'Begin with']

const nouns = readdirSync(join(ROOT, 'service'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const readme = (noun: string): string => readFileSync(join(ROOT, 'service', noun, 'README.md'), 'utf8')

/** The paths in backticks, from the root of the repository: `folder/file.ts`, or `file.ts` next to the README. */
const pathsOf = (noun: string): string[] =>
  [...readme(noun).matchAll(/`([^`]+)`/g)]
    .map(([, code = '']) => code)
    .filter((code) => code.includes('/') || code.endsWith('.ts'))
    .map((path) => (existsSync(join(ROOT, path.split('/')[0] ?? '')) ? path : `service/${noun}/${path}`))

describe.each(nouns)('the README of %s', (noun) => {
  test(`has at most ${MOST_LINES} lines`, () => {
    expect(readme(noun).trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES)
  })

  test('has all headings, in order', () => {
    expect([...readme(noun).matchAll(/^\*\*(.+?)\*\*/gm)].map(([, heading]) => heading)).toEqual(HEADINGS)
  })

  test('names no path that does not exist', () => {
    expect(pathsOf(noun).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})
