/** Notes the processor time of each test file for test/run.ts, its imports and the processes that it started included. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { afterAll, expect } from 'vitest'
import { noteCost } from './notes.ts'

/** Ticks of a second in /proc, on all of Linux. */
const TICKS = 100

const begun = cpuSeconds()
const begunAt = performance.now()
afterAll(() => {
  const file = relative('', expect.getState().testPath ?? '')
  noteCost({ file, cpuSeconds: cpuSeconds() - begun, seconds: (performance.now() - begunAt) / 1000 })
})

/** Of this process, and of the processes that it started and that have ended; without those where there is no /proc. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000 + endedChildren()
}

function endedChildren(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) / TICKS
  } catch {
    return 0
  }
}
