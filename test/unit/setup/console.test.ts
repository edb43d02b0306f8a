import { describe, expect, test } from 'vitest'
import { blocksOf, isAsShown, typedIn } from '../../setup/console.ts'

const DOCUMENT = `# A title

\`\`\`json sim/a.json
{}
\`\`\`

\`\`\`console
$ ls \\
  -l
one
two
$ true
\`\`\`
`

test('blocks and what is typed in them are found, with their lines', () => {
  const blocks = blocksOf(DOCUMENT)

  expect(blocks.map(({ info, line }) => [info, line])).toEqual([
    ['json sim/a.json', 3],
    ['console', 7],
  ])
  expect(blocks.slice(1).flatMap(typedIn)).toEqual([
    { command: 'ls \\\n  -l', printed: 'one\ntwo', line: 8 },
    { command: 'true', printed: '', line: 12 },
  ])
})

describe('what was printed', () => {
  test.each([
    ['one (1)', 'one (1)', true],
    ['one', 'two', false],
    ['', '', true],
    ['', 'one', false],
    ['at … o’clock', 'at 12 o’clock', true],
    ['at … o’clock', 'at 12\no’clock', false],
    ['one\n…\nfour', 'one\ntwo\nthree\nfour', true],
    ['one\n…\nfour', 'one\nfour', true],
    ['one\n…\nfour', 'one\nthree', false],
    ['one\n…', 'one\ntwo\nthree', true],
  ])('as %j shows %j: %j', (shown, printed, is) => {
    expect(isAsShown(shown, printed)).toBe(is)
  })
})
