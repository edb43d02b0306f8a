/**
 * What a test file of `npm test` may take, in processor time, which other work on the machine changes little; busy
 * neighbours on its host are measured (slowness.ts). A file that needs more goes to the long suites (test/long.ts).
 */
import type { CostNote } from './notes.ts'

/** Processor seconds of a file, with its imports and the processes that it starts. */
const BUDGET = { unit: 3, other: 20 } as const
/** A file fails at so many times its budget: a busy machine takes up to half as much again. */
const FAILS_AT = 2
const SHOWN = 10
/** A slowness of this or more is named. */
const SAID_AT = 1.1

const budgetOf = (file: string): number => (file.startsWith('test/unit/') ? BUDGET.unit : BUDGET.other)

/** A line for each file at twice its budget or more. @param slowness times slower than usual that the machine computes */
export const overBudget = (costs: readonly CostNote[], slowness: number): string[] =>
  costs
    .filter(({ file, cpuSeconds }) => cpuSeconds >= FAILS_AT * budgetOf(file) * slowness)
    .map(
      ({ file, cpuSeconds }) =>
        `${file}: took ${cpuSeconds.toFixed(1)} CPU s, its budget is ${budgetOf(file)}${slowness < SAID_AT ? '' : ` on a machine that is not ${slowness.toFixed(1)} times slower, as this one`}: make it cheaper, or name it in test/long.ts`,
    )

/** The files that took most, as lines to print. */
export function dearest(costs: readonly CostNote[]): string[] {
  const projectOf = ({ file }: CostNote) => file.split('/')[1] ?? ''
  const sum = (some: readonly CostNote[]) => some.reduce((total, { cpuSeconds }) => total + cpuSeconds, 0).toFixed(0)
  const parts = [...Map.groupBy(costs, projectOf)].map(([project, some]) => `${project} ${sum(some)}`)
  const most = costs.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, SHOWN)
  return [
    `${sum(costs)} CPU s in tests, without the servers that they share (${parts.join(', ')}); the dearest files:`,
    ...most.map(({ file, cpuSeconds }) => `${cpuSeconds.toFixed(1).padStart(6)}  ${file}`),
  ]
}
