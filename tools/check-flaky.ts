/** `npm run flaky`: checks the list of known flaky tests, test/flaky.txt. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { faultsOf } from '../test/setup/flaky-list.ts'

const LIST = 'test/flaky.txt'
const at = (file: string) => join(import.meta.dirname, '..', file)

function commitsSince(commit: string): number | undefined {
  try {
    const counted = execFileSync('git', ['rev-list', '--count', `${commit}..HEAD`], {
      cwd: at('.'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return Number(counted)
  } catch {
    return undefined
  }
}

const read = (file: string) => (existsSync(at(file)) ? readFileSync(at(file), 'utf8') : undefined)
const faults = faultsOf(readFileSync(at(LIST), 'utf8'), { commitsSince, read })
for (const fault of faults) console.error(`${LIST}: ${fault}`)
process.exitCode = faults.length > 0 ? 1 : 0
