import { expect, test } from 'vitest'
import { faultsOf } from '../../setup/flaky-list.ts'

const FILE = 'test/e2e/main-job.test.ts'
const REPOSITORY = {
  commitsSince: (commit: string) =>
    new Map([
      ['1a2b3c4', 60],
      ['5d6e7f8', 61],
    ]).get(commit),
  read: (file: string) => (file === FILE ? "test('plays the main job', …)" : undefined),
}
const LINE = `${FILE} > main job > plays the main job # since 1a2b3c4 the worker was not up`

test('accepts five known tests', () => {
  expect(faultsOf(`${LINE}\n`.repeat(5), REPOSITORY)).toEqual([])
})

test.each([
  ['a sixth line', `${LINE}\n`.repeat(6), '6 lines, at most 5'],
  ['an old line', LINE.replace('1a2b3c4', '5d6e7f8'), '61 commits old, at most 60'],
  ['a commit that is not there', LINE.replace('1a2b3c4', '9999999'), 'there is no commit 9999999'],
  ['a file that is not there', LINE.replace('main-job.test', 'gone.test'), 'there is no test/e2e/gone.test.ts'],
  ['a test that is gone', LINE.replaceAll('plays the', 'stops the'), "has no test 'main job > stops the main job'"],
  ['a line without a reason', `${FILE} > plays the main job`, "expected 'test/"],
])('refuses %s', (_, list, fault) => {
  expect(faultsOf(list, REPOSITORY)).toEqual([expect.stringContaining(fault)])
})
