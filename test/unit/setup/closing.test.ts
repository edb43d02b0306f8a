import { expect, test } from 'vitest'
import { closingOf } from '../../setup/closing.ts'

test('closingOf counts what a command says at its end', () => {
  const said = [
    '12 passed, 3 failed', // of a part, before
    'failed: test/a.test.ts > closes: no',
    'flaky: test/b.test.ts > opens: no',
    '1 flaky',
    '20 passed, 1 failed, 2 skipped',
    '',
  ].join('\n')

  expect(closingOf('demo', said, 1)).toEqual({
    passed: 20,
    failed: ['failed: test/a.test.ts > closes: no'],
    flaky: ['flaky: test/b.test.ts > opens: no'],
  })
})

test.each([
  ['Killed', 137, 'failed: demo: did not say how many passed (exit code 137)'],
  ['3 passed, 0 failed', 1, 'failed: demo: ended with exit code 1'],
])('closingOf fails for a command that says %j and ends with %i', (said, exitCode, failure) => {
  expect(closingOf('demo', said, exitCode).failed).toEqual([failure])
})
