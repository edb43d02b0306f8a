/** What statements cost the database, as the module auto_explain tells for each that is executed, nested ones included. */
import pg from 'pg'

/** A table that a statement read from end to end. */
export interface Scan {
  readonly table: string
  /** Rows read. */
  readonly rows: number
}

/** All executions of a statement in one piece of work. */
export interface Statement {
  readonly text: string
  calls: number
  /** Blocks of tables and indexes, from memory or disk. */
  buffers: number
  /** Rows that all steps of the plan read, handed on or threw away. */
  rows: number
  readonly scans: Scan[]
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Node[]
}

const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_level': 'notice',
  'auto_explain.log_format': 'json',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_parameter_max_length': '0',
  // What is dear at 1,000,000 SIMs must be dear in a small estate too: here an index costs little beside a whole table.
  random_page_cost: '0.1',
}

/** The same database, for connections that are told the plan of each statement. The user is a superuser. */
export function explaining(url: string): string {
  const explained = new URL(url)
  explained.searchParams.set(
    'options',
    Object.entries(SETTINGS)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  )
  return explained.href
}

const heard = new WeakSet<pg.Client>()
let listener: ((message: string) => void) | undefined
let planning: Planning = {}
/** Statements sent. The plan of a transaction's last one comes with its commit, and no reader waits for a commit. */
const sent = new Set<Promise<unknown>>()

export interface Planning {
  /** Whether kept statements (store/kept.ts) get the plan that PostgreSQL makes for all values. Default: one for theirs. */
  readonly forAllValues?: boolean
  /** PostgreSQL's `random_page_cost`. Default: that of the connection. */
  readonly pageCost?: number
}

/** How PostgreSQL plans the statements that follow. */
export function planBy(wanted: Planning): void {
  planning = wanted
}

// oxlint-disable-next-line typescript/unbound-method -- called with the client it came from
const query = pg.Client.prototype.query
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  if (!heard.has(this)) {
    heard.add(this)
    this.on('notice', ({ message }) => listener?.(message ?? ''))
  }
  const { forAllValues = false, pageCost } = planning
  if (forAllValues || pageCost !== undefined) {
    const [asked] = args
    const isKept = typeof asked === 'object' && asked !== null && 'name' in asked
    const set = [`set local plan_cache_mode = ${forAllValues && isKept ? 'force_generic_plan' : 'auto'}`]
    if (pageCost !== undefined) set.push(`set local random_page_cost = ${pageCost}`)
    // It fails only after another one of the transaction.
    Reflect.apply(query, this, [set.join('; ')]).catch(() => undefined)
  }
  const answer: unknown = Reflect.apply(query, this, args)
  if (answer instanceof Promise) {
    sent.add(answer)
    answer.catch(() => undefined).finally(() => sent.delete(answer))
  }
  return answer
} as typeof query

/** COPY has its values in its text. */
const withoutValues = (text: string): string =>
  text.startsWith('copy ') ? text.replaceAll(/'[^']*'|\b\d+\b/g, '?') : text

/** Does work on an {@link explaining} database. @returns what each of its statements cost, by its text */
export async function statementsOf(work: () => Promise<unknown>): Promise<Map<string, Statement>> {
  const seen = new Map<string, Statement>()
  listener = (message) => {
    const at = message.indexOf('plan:\n')
    if (!message.startsWith('duration:') || at < 0) return
    const { 'Query Text': asked, Plan: plan } = JSON.parse(message.slice(at + 6)) as {
      'Query Text': string
      Plan: Node
    }
    const text = withoutValues(asked)
    const statement = seen.get(text) ?? { text, calls: 0, buffers: 0, rows: 0, scans: [] }
    seen.set(text, statement)
    statement.calls += 1
    statement.buffers += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    for (const node of nodesOf(plan)) {
      const rows = rowsOf(node)
      statement.rows += rows
      if (node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== undefined) {
        statement.scans.push({ table: node['Relation Name'], rows })
      }
    }
  }
  try {
    await work()
    await Promise.allSettled(sent)
  } finally {
    listener = undefined
  }
  return seen
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const rowsOf = (node: Node): number =>
  Math.round(
    node['Actual Loops'] *
      (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Join Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)),
  )
