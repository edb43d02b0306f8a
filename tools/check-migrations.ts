/**
 * `npm run migrations`: checks that no migration blocks a running service.
 *
 * PostgreSQL's own parser reads each statement. It must not lock an existing table for as long as it takes to read it.
 * It must not remove what processes of the previous release need. Each refusal names a harmless alternative. A line
 * `-- blocks: <what, for how long, and why that is right>` allows a file all the same. The baseline runs in
 * empty databases, and is not checked.
 */
import { loadModule, type Node, parse } from 'libpg-query'
import {
  type MigrationFile,
  readFunctionFiles,
  readMigrationFiles,
  statementsOf,
} from '../store/migrate/migration-files.ts'

const BASELINE = '0001_baseline'
const SAYS_WHY = /^-- blocks: \S.{20,}/m

interface Fault {
  readonly file: string
  readonly what: string
  readonly instead: string
}

/** The statements of a text as PostgreSQL's parser sees them, one node each. */
async function nodesOf(text: string): Promise<Node[]> {
  await loadModule()
  const { stmts = [] } = await parse(text)
  return stmts.flatMap(({ stmt }) => stmt ?? [])
}

/** The faults of one file. Empty if the file has a `-- blocks:` line. */
export async function faultsOf(file: MigrationFile): Promise<Fault[]> {
  if (SAYS_WHY.test(file.text)) return []
  const nodes = await nodesOf(file.text)
  const own = new Set(nodes.flatMap((node) => ('CreateStmt' in node ? (node.CreateStmt.relation?.relname ?? []) : [])))
  const faults = nodes.flatMap((node) => check(node, file, own))
  if (!file.transaction && statementsOf(file).length !== nodes.length) {
    faults.push({
      what: `${nodes.length} statements, ${statementsOf(file).length} of them end at the end of a line`,
      instead:
        'end each statement of a file without a transaction with a semicolon at the end of a line, and no other line',
    })
  }
  return faults.map((fault) => ({ file: file.name, ...fault }))
}

type Found = Omit<Fault, 'file'>
const NOT_VALID = "add constraint … not valid, and 'validate constraint' in a later file"
const CONTRACT = "put it into a file of its own with '-- phase: contract'"

function check(node: Node, file: MigrationFile, own: ReadonlySet<string>): Found[] {
  if ('IndexStmt' in node) {
    const { relation, concurrent } = node.IndexStmt
    if (concurrent === true || own.has(relation?.relname ?? '')) return []
    return [
      {
        what: `create index on ${relation?.relname} keeps out whoever writes it`,
        instead: "create index concurrently if not exists, in a file with '-- no-transaction'",
      },
    ]
  }
  if ('AlterTableStmt' in node) {
    const table = node.AlterTableStmt.relation?.relname ?? ''
    if (own.has(table)) return []
    return (node.AlterTableStmt.cmds ?? []).flatMap((cmd) =>
      'AlterTableCmd' in cmd ? alteration(cmd.AlterTableCmd, table, file) : [],
    )
  }
  if ('RenameStmt' in node && file.phase === 'expand')
    return [{ what: 'a rename takes the old name away', instead: `add the new one beside it; ${CONTRACT}` }]
  if ('DropStmt' in node && file.phase === 'expand' && node.DropStmt.removeType !== 'OBJECT_INDEX')
    return [{ what: 'processes of the release before may use what is dropped', instead: CONTRACT }]
  if ('LockStmt' in node) return [{ what: 'lock table', instead: 'lock rows, or nothing' }]
  if ('DoStmt' in node) return [{ what: "what a 'do' block does cannot be seen", instead: 'plain statements' }]
  if ('UpdateStmt' in node) return change(node.UpdateStmt.relation?.relname, own)
  if ('DeleteStmt' in node) return change(node.DeleteStmt.relation?.relname, own)
  return []
}

const change = (table: string | undefined, own: ReadonlySet<string>): Found[] =>
  own.has(table ?? '')
    ? []
    : [{ what: `rows of ${table} are changed in one transaction`, instead: 'change them in batches, by an operation' }]

type Command = Extract<Node, { AlterTableCmd: unknown }>['AlterTableCmd']
type ColumnDef = Extract<Node, { ColumnDef: unknown }>['ColumnDef']
type Constraint = Extract<Node, { Constraint: unknown }>['Constraint']

function alteration({ subtype, name, def }: Command, table: string, { phase }: MigrationFile): Found[] {
  if (subtype === 'AT_AddColumn' && def !== undefined && 'ColumnDef' in def) return newColumn(def.ColumnDef, table)
  if (subtype === 'AT_AddConstraint' && def !== undefined && 'Constraint' in def)
    return newConstraint(def.Constraint, table)
  if (subtype === 'AT_AlterColumnType')
    return [{ what: `a type of ${table} is changed, which writes it anew`, instead: 'add a column beside it' }]
  if (subtype === 'AT_SetNotNull') {
    return [
      {
        what: `set not null on ${table}.${name} reads the whole table under its lock`,
        instead: 'add constraint … check (… is not null) not valid, and validate it in a later file',
      },
    ]
  }
  if (subtype === 'AT_DropColumn' && phase === 'expand')
    return [{ what: `processes of the release before use ${table}.${name}`, instead: CONTRACT }]
  return []
}

function newColumn({ colname, constraints = [] }: ColumnDef, table: string): Found[] {
  const column = `${table}.${colname}`
  return constraints.flatMap((node): Found[] => {
    if (!('Constraint' in node)) return []
    const { contype, raw_expr } = node.Constraint
    const computed = contype === 'CONSTR_DEFAULT' && raw_expr !== undefined && 'FuncCall' in raw_expr
    if (computed || contype === 'CONSTR_IDENTITY' || contype === 'CONSTR_GENERATED')
      return [{ what: `${column} writes the whole table anew`, instead: 'a constant default, or none' }]
    if (contype === 'CONSTR_UNIQUE' || contype === 'CONSTR_PRIMARY')
      return [{ what: `${column} makes a unique index`, instead: 'create unique index concurrently' }]
    if (contype === 'CONSTR_FOREIGN') return [{ what: `${column} references another table`, instead: NOT_VALID }]
    return []
  })
}

function newConstraint({ contype, skip_validation, indexname }: Constraint, table: string): Found[] {
  if (skip_validation === true || indexname !== undefined) return []
  const unique = contype === 'CONSTR_UNIQUE' || contype === 'CONSTR_PRIMARY'
  return [
    {
      what: `add constraint on ${table} reads the whole table under its lock`,
      instead: unique ? 'create unique index concurrently, then add constraint … using index' : NOT_VALID,
    },
  ]
}

/** A function's file replaces the function that it is named after, says who may execute it, and does nothing else. */
export async function functionFaultsOf({ name, text }: MigrationFile): Promise<Fault[]> {
  const wanted = name.replace(/^functions\//, '').replace(/@.*$/, '')
  const [first, ...others] = await nodesOf(text)
  const isOf = (names: unknown) => JSON.stringify(names ?? []).includes(`"${wanted}"`)
  const isReplaced =
    first !== undefined &&
    'CreateFunctionStmt' in first &&
    first.CreateFunctionStmt.replace === true &&
    isOf(first.CreateFunctionStmt.funcname)
  if (isReplaced && others.every((node) => 'GrantStmt' in node && isOf(node.GrantStmt.objects))) return []
  const what = `${others.length + (first === undefined ? 0 : 1)} statement(s)`
  return [{ file: name, what, instead: `create or replace function ${wanted}(…), then at most its grants` }]
}

if (process.argv[1] === import.meta.filename) {
  const files = (await readMigrationFiles()).filter(({ name }) => name > BASELINE)
  const functions = await readFunctionFiles()
  const faults = (await Promise.all([...files.map(faultsOf), ...functions.map(functionFaultsOf)])).flat()
  for (const { file, what, instead } of faults) console.log(`${file}: ${what}; instead: ${instead}`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
