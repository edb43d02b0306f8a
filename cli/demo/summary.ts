/** The result. Every figure is read back through the interfaces. */

import type { components, operations } from '../../adapters/rest/internal.d.ts'
import type { Reporter } from '../reporter.ts'
import { responseOf } from '../service.ts'
import { type Cell, table } from '../table.ts'
import { allOf } from './pages.ts'
import type { Play } from './prepare.ts'
import type { DemoProgress, Mapping } from './progress.ts'

type Counts = operations['readCounts']['responses'][200]['content']['application/json']
type Cycle = components['schemas']['CycleInfo']
interface Workflow {
  readonly type: string
  readonly status: string
  readonly result: unknown
}

/** A block of the summary: a titled table. */
export interface Block {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** @param made how many records were made of the time up to now */
export async function summarise(play: Play, mapping: Mapping, made: number): Promise<Block[]> {
  const counts = await responseOf(play.internal.GET('/internal/counts'))
  const cycles = await responseOf(play.internal.GET('/internal/cycles'))
  const workflows = await allOf((query) => responseOf(play.internal.GET('/internal/workflows', { params: { query } })))
  const cycle = cycles.find(({ key }) => key === mapping.cycle.key)
  const { answered, withheld } = await play.note({})
  return [
    { title: 'SIMs', head: ['status', 'SIMs'], rows: Object.entries(counts.simsByStatus) },
    records({ made, withheld, answered, cycle }),
    { title: 'Tickets', head: ['status', 'tickets'], rows: Object.entries(counts.ticketsByStatus) },
    log(counts.logByRule),
    { title: 'E-mails', head: ['status', 'e-mails'], rows: Object.entries(counts.mailsByStatus) },
    outcomes(workflows),
  ]
}

function records(from: {
  readonly made: number
  readonly withheld: number
  readonly answered: DemoProgress['answered']
  readonly cycle: Cycle | undefined
}): Block {
  const { made, withheld, answered, cycle } = from
  return {
    title: 'Usage records',
    head: ['', 'records'],
    rows: [
      ['made by the devices', made],
      ['not delivered: SIM suspended', withheld],
      ['counted in the cycle', cycle?.recordsAccepted ?? 0],
      ['delivered twice (counted once)', cycle?.recordsDuplicate ?? 0],
      ['rejected', answered.rejected],
    ],
  }
}

function log(entries: Counts['logByRule']): Block {
  const order = ['Critical', 'Warning', 'Info']
  const rows = entries
    .toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level) || b.count - a.count)
    .map(({ level, rule, count }) => [level, rule || '(no rule)', count] as const)
  const sums = order.map((level) => [
    level,
    '(all)',
    entries.filter((entry) => entry.level === level).reduce((sum, { count }) => sum + count, 0),
  ])
  return { title: 'Watchdog log', head: ['level', 'rule', 'entries'], rows: [...sums, ...rows] }
}

/** How a workflow ended: the outcome in its result, else its status. */
export function workflowOutcome({ status, result }: Workflow): string {
  const outcome: unknown =
    typeof result === 'object' && result !== null
      ? Object.entries(result).find(([name]) => name === 'outcome')?.[1]
      : undefined
  return typeof outcome === 'string' ? outcome : status
}

function outcomes(workflows: readonly Workflow[]): Block {
  const byKind = Map.groupBy(workflows, (workflow) => `${workflow.type}\n${workflowOutcome(workflow)}`)
  const rows = [...byKind]
    .map(([kind, group]) => [...kind.split('\n'), group.length])
    .toSorted((a, b) => String(a[0]).localeCompare(String(b[0])) || Number(b[2]) - Number(a[2]))
  return { title: 'Workflows', head: ['type', 'outcome', 'workflows'], rows }
}

export function printSummary(blocks: readonly Block[], reporter: Reporter): void {
  for (const { title, head, rows } of blocks) {
    reporter.title(title)
    for (const line of table(head, rows)) reporter.say(line)
  }
}
