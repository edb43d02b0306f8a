/** Prints the plan of a month end, as tables. */
import type { InternalClient } from '../../adapters/rest/client.ts'
import type { MonthEndPlan } from '../../domain/month-end/plan.ts'
import { changeWords, PLAN_TITLES } from '../../domain/month-end/words.ts'
import { amount, money } from '../../domain/quantity.ts'
import { toMB } from '../../domain/units.ts'
import { CommandFailure } from '../failures.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { type Cell, table } from '../table.ts'

/** Milliseconds: a little more than the 5 minutes that the service takes at most. */
export const PLAN_TIMEOUT_MS = 310_000
/** Most rows shown of a list. The interface returns more. */
const SHOWN = 20

const megabytes = (bytes: number): number => Math.round(toMB(bytes) * 10) / 10

interface Excerpt<T> {
  readonly count: number
  readonly first: readonly T[]
}

/** The first rows of a list, and the number of the rest. */
function listLines<T>(title: string, { count, first }: Excerpt<T>, linesOf: (rows: readonly T[]) => readonly string[]) {
  if (count === 0) return []
  const rows = first.slice(0, SHOWN)
  const more = count > rows.length ? [`  … and ${count - rows.length} more`] : []
  return ['', `${title} (${count})`, ...linesOf(rows).map((line) => `  ${line}`), ...more]
}

const inTable =
  <T>(head: readonly string[], rowOf: (row: T) => readonly Cell[]) =>
  (rows: readonly T[]): string[] =>
    table(head, rows.map(rowOf))

function planLines(plan: MonthEndPlan): string[] {
  const { cycle, endsAt, closedAt, currency, totals, pools, changes, conflicts, renewals, adjustments } = plan
  const when = closedAt === null ? `ends at ${at(endsAt)}` : `was closed at ${at(closedAt)}: nothing is left to do`
  const sums: Cell[][] = [
    ['moves', changes.moves],
    ['unassignments', changes.unassignments],
    ['would fail', conflicts.count],
    ['brought back', renewals.count],
    ['lines of the statement', totals.lines],
    ['charges', money(totals.totalMicro, currency)],
  ]
  return [
    `dry run of the end of cycle ${cycle}, which ${when}; nothing was changed`,
    ...table([], sums).map((line) => `  ${line}`),
    ...listLines(
      'Pools',
      pools,
      inTable(['pool', 'used MB', 'capacity MB', 'over MB', 'next MB', 'charges'], poolRow(currency)),
    ),
    ...listLines(
      PLAN_TITLES.adjustments,
      adjustments,
      inTable(['cycle', 'lines', 'charges'], (row) => [row.cycle, row.lines, amount(row.totalMicro, currency)]),
    ),
    ...listLines(
      PLAN_TITLES.changes,
      changes,
      inTable(['SIM', 'ICCID', 'change'], (row) => [String(row.simId), row.iccid, changeWords(row)]),
    ),
    ...listLines(
      PLAN_TITLES.conflicts,
      conflicts,
      inTable(['SIM', 'code', 'why'], ({ simId, code, detail }) => [String(simId), code, detail]),
    ),
    ...listLines(PLAN_TITLES.renewals, renewals, (rows) => [rows.join(', ')]),
  ]
}

const poolRow =
  (currency: string) =>
  (row: MonthEndPlan['pools']['first'][number]): Cell[] => [
    row.poolId === 0 ? 'outside pools' : `${row.poolId} ${row.poolName}`,
    megabytes(row.usageBytes),
    megabytes(row.limitBytes),
    megabytes(row.overageBytes),
    megabytes(row.nextLimitBytes),
    amount(row.totalMicro, currency),
  ]

/**
 * Prints the plan of a cycle's month end.
 *
 * @param cycle key of the cycle; undefined: the running one
 * @throws CommandFailure if no cycle has begun yet
 */
export async function showPlan(service: InternalClient, cycle: string | undefined, flags: OutputFlags): Promise<void> {
  const key = cycle ?? (await runningCycle(service))
  const params = { path: { key }, query: { fresh: true } }
  const plan = await responseOf(service.GET('/internal/cycles/{key}/plan', { params }))
  printAnswer(flags, plan, planLines)
}

/** @throws CommandFailure if there is none: a worker opens the first within seconds */
async function runningCycle(service: InternalClient): Promise<string> {
  const cycles = await responseOf(service.GET('/internal/cycles'))
  const running = cycles.find(({ startsAt }) => Date.parse(startsAt) <= Date.now())
  if (running !== undefined) return running.key
  throw new CommandFailure('no billing cycle of the tenant is open yet: name one with --cycle, or start a worker')
}
