/** A workflow's run as lines for the terminal. Times are in UTC. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fields, viewOf, wordOf } from '../../domain/workflows/run-view.ts'
import { at } from '../instant.ts'
import { span } from '../reporter.ts'
import { table } from '../table.ts'
import type { Pending, RunInfo } from './ask.ts'

const Subject = Type.Object({
  simId: Type.Optional(Type.Integer()),
  poolId: Type.Optional(Type.Integer()),
  cycleKey: Type.Optional(Type.String()),
})

/** The subject of a run: `SIM 7`, `pool 3, cycle 2026-11`. */
function subjectOf({ input }: Pick<RunInfo, 'input'>): string {
  if (!Value.Check(Subject, input)) return ''
  const { simId, poolId, cycleKey } = input
  return [
    ...(simId === undefined ? [] : [`SIM ${simId}`]),
    ...(poolId === undefined ? [] : [`pool ${poolId}`]),
    ...(cycleKey === undefined ? [] : [`cycle ${cycleKey}`]),
  ].join(', ')
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ')
  if (Value.Check(Fields, value)) {
    return Object.entries(value)
      .map(([name, field]) => `${name} ${valueText(field)}`)
      .join(', ')
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const Rows = Type.Array(Fields, { minItems: 1 })
/** Most rows shown of a list. */
const ROWS_SHOWN = 20

/** A list of objects as a table under its name. */
function rowsLines(name: string, rows: Type.Static<typeof Rows>): string[] {
  const head = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const shown = rows.slice(0, ROWS_SHOWN).map((row) => head.map((field) => valueText(row[field])))
  const more = rows.length > shown.length ? [`    … and ${rows.length - shown.length} more`] : []
  return [`  ${name}`, ...table(head, shown).map((line) => `    ${line}`), ...more]
}

/** The fields of an object, one line each, then its lists. Without the fields in `leftOut`. */
export function fieldLines(value: unknown, leftOut: readonly string[] = []): string[] {
  if (!Value.Check(Fields, value)) return value === null ? [] : [`  ${valueText(value)}`]
  const fields = Object.entries(value).filter(([name]) => !leftOut.includes(name))
  const plain = fields.filter(([, field]) => !Value.Check(Rows, field)).map(([name, field]) => [name, valueText(field)])
  const lists = fields.flatMap(([name, field]) => (Value.Check(Rows, field) ? rowsLines(name, field) : []))
  return [...table([], plain).map((line) => `  ${line}`), ...lists]
}

const section = (title: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', title, ...lines])

function headLines(run: RunInfo, historyUrl: string | null): string[] {
  const { workflowId, runId, type, status, startedAt, closedAt } = run
  const [subject, word] = [subjectOf(run), wordOf(run)]
  const took = closedAt === null ? '' : `, after ${span(Date.parse(closedAt) - Date.parse(startedAt))}`
  return [
    `${type}${subject === '' ? '' : ` of ${subject}`}: ${status}${word === '' || word === status ? '' : `, ${word}`}`,
    ...table(
      [],
      [
        ['id', workflowId],
        ['run', runId],
        ['started', at(startedAt)],
        ...(closedAt === null ? [] : [['ended', `${at(closedAt)}${took}`]]),
        ...(historyUrl === null ? [] : [['history', historyUrl]]),
      ],
    ).map((line) => `  ${line}`),
  ]
}

/** The steps of a run as a table. A state has at most the newest 40. */
const stepLines = (state: unknown): string[] => {
  const view = viewOf(state)
  if (view === null || view.steps.length === 0) return []
  const rows = view.steps.map(({ step, at: when, ticketId, outcome }) => [at(when), step, ticketId ?? '', outcome])
  return table(['at', 'step', 'ticket', 'outcome'], rows).map((line) => `  ${line}`)
}

/** `ticket 7f3… until 2026-12-01 00:00:00: the carrier has to activate the SIM`; null if it waits for nothing. */
export function waitLine(state: unknown): string | null {
  const waits = viewOf(state)?.waitsFor ?? null
  if (waits === null) return null
  const until = waits.until === null ? '' : ` until ${at(waits.until)}`
  return `${waits.what}${until}: ${waits.why}`
}

function activityLine({ type, attempt, nextAttemptAt, startedAt, lastFailure, status }: Pending['activities'][number]) {
  const now =
    status === 'running'
      ? `attempt ${attempt} runs since ${startedAt === null ? 'now' : at(startedAt)}`
      : nextAttemptAt === null
        ? `attempt ${attempt} waits for a worker`
        : `attempt ${attempt} begins at ${at(nextAttemptAt)}`
  const why = lastFailure === null ? '' : `; the last one failed: ${lastFailure.code}: ${lastFailure.detail}`
  return `  ${type}: ${now}${why}`
}

/** Most activities shown. A month end has one for each change in progress. */
const SHOWN = 10

/** The reason that a run does not continue, from Temporal. */
export function pendingLines({ activities, children, task, workers }: Pending, state: unknown): string[] {
  const some = activities.slice(0, SHOWN).map(activityLine)
  const more = activities.length > some.length ? [`  … and ${activities.length - some.length} more`] : []
  const stuck =
    task === null || task.lastFailure === null
      ? []
      : [`  its own code: attempt ${task.attempt} failed: ${task.lastFailure.code}: ${task.lastFailure.detail}`]
  const alone =
    workers > 0 ? [] : ['  no worker asks for its work: nothing goes on until one runs ("npx simherd worker")']
  const silent = viewOf(state) === null ? ['  no worker has answered for its state: steps and waits are not known'] : []
  return [
    ...some,
    ...more,
    ...children.map(({ workflowId }) => `  ${workflowId} runs for it`),
    ...stuck,
    ...alone,
    ...silent,
  ]
}

/**
 * The lines of text about a run.
 *
 * @param more.pending left out for an ended run
 */
export function runLines(run: RunInfo, more: { readonly pending?: Pending; readonly historyUrl?: string | null } = {}) {
  const { state, input, result, failure } = run
  const wait = run.status === 'running' ? waitLine(state) : null
  return [
    ...headLines(run, more.historyUrl ?? null),
    ...section('State', typeof state === 'string' ? [] : fieldLines(state, ['steps', 'waitsFor'])),
    ...section('Steps', stepLines(state)),
    ...(wait === null ? [] : ['', `Waits for ${wait}`]),
    ...section('At Temporal', more.pending === undefined ? [] : pendingLines(more.pending, state)),
    ...section('Input', fieldLines(input)),
    ...section('Result', fieldLines(result)),
    ...section('Failure', failure === null ? [] : [`  ${failure.code}: ${failure.detail}`]),
  ]
}
