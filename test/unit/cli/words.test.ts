import { describe, expect, test } from 'vitest'
import { workflowOutcome } from '../../../cli/demo/summary.ts'
import { CommandFailure, requireSettings, wordsOf } from '../../../cli/failures.ts'
import { readable } from '../../../cli/start/child-log.ts'
import { table } from '../../../cli/table.ts'

describe('table', () => {
  test('aligns text left, figures right with thousands separators', () => {
    const rows = Object.entries({ Active: 1296, Suspended: 4 })

    expect(table(['status', 'SIMs'], rows)).toEqual([
      'status      SIMs',
      '─────────  ─────',
      'Active     1,296',
      'Suspended      4',
    ])
  })

  test('shows its head without any row', () => {
    expect(table(['status', 'SIMs'], [])).toEqual(['status  SIMs', '──────  ────'])
  })
})

describe('readable', () => {
  const entry = (level: number, fields: object) =>
    `worker | ${JSON.stringify({ level, msg: 'a sweep failed', ...fields })}`

  test.each([
    ['shows a warning with its reason', entry(40, { reason: 'no route' }), 'worker: a sweep failed (no route)'],
    ['hides a level below warning', entry(30, {}), undefined],
    ['shows a line that is not from the log', 'api | Killed', 'api: Killed'],
    ['hides the frames of a stack', 'api |     at run (main.ts:1:1)', undefined],
    ['hides the greeting of a server', 'carrier | listening on http://127.0.0.1:1', undefined],
  ])('%s', (_, line, shown) => {
    expect(readable(line, false)).toBe(shown)
  })

  test('shows every level if asked for everything', () => {
    expect(readable(entry(30, {}), true)).toBe('worker: a sweep failed')
  })
})

test.each([
  ['adds the cause if it says more', new Error('it failed', { cause: new Error('REFUSED') }), 'it failed (REFUSED)'],
  ['omits a cause that it repeats', new Error('failed: ENOSPC', { cause: new Error('ENOSPC') }), 'failed: ENOSPC'],
  ['lists all errors', new AggregateError([new Error('refused ::1'), new Error('out')]), 'refused ::1; out'],
])('wordsOf %s', (_, error, words) => {
  expect(wordsOf(error)).toBe(words)
})

test('requireSettings names all missing settings together', () => {
  const given = { DATABASE_URL: '', SMTP_URL: 'smtp://x', SERVICE_KEY: '' }
  const ask = () => requireSettings(given, ['DATABASE_URL', 'SMTP_URL', 'SERVICE_KEY'])

  expect(ask).toThrow(CommandFailure)
  expect(ask).toThrow(/^DATABASE_URL, SERVICE_KEY are not set/)
})

describe('workflowOutcome', () => {
  test.each([
    ['the outcome of its result', { type: 't', status: 'completed', result: { outcome: 'renewed' } }, 'renewed'],
    ['the status of an ended run without result', { type: 't', status: 'failed', result: null }, 'failed'],
    ['that a run is still running', { type: 't', status: 'running', result: undefined }, 'running'],
  ])('returns %s', (_, workflow, outcome) => {
    expect(workflowOutcome(workflow)).toBe(outcome)
  })
})
