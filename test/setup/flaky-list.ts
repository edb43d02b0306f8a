/**
 * The list of known flaky tests, test/flaky.txt: a line each, `test/e2e/x.test.ts > title # since 1a2b3c4 what was seen`.
 * It is a list of debts: short, and never old.
 */

const MOST = 5
const OLDEST_COMMITS = 60
const LINE = /^(?<file>test\/\S+\.test\.ts) > (?<title>.+) # since (?<commit>[0-9a-f]{7,40}) (?<seen>\S.*)$/

interface Repository {
  /** How many commits were made after this one; undefined if there is no such commit. */
  readonly commitsSince: (commit: string) => number | undefined
  /** The text of a file; undefined if there is no such file. */
  readonly read: (file: string) => string | undefined
}

/** What is wrong with the list; empty if nothing is. */
export function faultsOf(list: string, { commitsSince, read }: Repository): string[] {
  const lines = list.split('\n').filter(Boolean)
  const faults = lines.length > MOST ? [`${lines.length} lines, at most ${MOST} are allowed: mend a test`] : []
  for (const [at, line] of lines.entries()) {
    const fail = (why: string) => faults.push(`line ${at + 1}: ${why}`)
    const { file, title, commit } = LINE.exec(line)?.groups ?? {}
    if (file === undefined || title === undefined || commit === undefined) {
      fail(`expected 'test/….test.ts > title # since <commit> what was seen', got '${line}'`)
      continue
    }
    const text = read(file)
    if (text === undefined) fail(`there is no ${file}`)
    // A title may be made of a table's row: its last part, in quotes, is what a file shows.
    else if (!text.includes(title.split(' > ').at(-1) ?? title)) fail(`${file} has no test '${title}'`)
    const age = commitsSince(commit)
    if (age === undefined) fail(`there is no commit ${commit}`)
    else if (age > OLDEST_COMMITS) fail(`is ${age} commits old, at most ${OLDEST_COMMITS} are allowed: mend the test`)
  }
  return faults
}
