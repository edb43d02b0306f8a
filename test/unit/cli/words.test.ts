import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../../../cli/demo/summary.ts'
import { CommandFailure, requireSettings, wordsOf } from '../../../cli/failures.ts'
import { readable } from '../../../cli/start/child-log.ts'
import { table } from '../../../cli/table.ts'

describe('table', () => {
  test('sets text to the left, figures to the right with their thousands, under a rule', () => {
    expect(
      table(
        ['status', 'SIMs'],
        [
          ['Active', 1296],
          ['Suspended', 4],
        ],
      ),
    ).toEqual(['status      SIMs', '─────────  ─────', 'Active     1,296', 'Suspended      4'])
  })

  test('shows its head where there is no row', () => {
    expect(table(['status', 'SIMs'], [])).toEqual(['status  SIMs', '──────  ────'])
  })
})

describe('the lines of child processes', () => {
  const entry = (level: number, fields: object) =>
    `worker | ${JSON.stringify({ level, msg: 'a sweep failed', ...fields })}`

  test.each([
    ['a warning is shown with its reason', entry(40, { reason: 'no route' }), 'worker: a sweep failed (no route)'],
    ['what is below a warning is not', entry(30, {}), undefined],
    ['what is not of the log is shown', 'api | Killed', 'api: Killed'],
    ['the frames of a stack are not', 'api |     at run (main.ts:1:1)', undefined],
    ['a server that greets is not', 'carrier | listening on http://127.0.0.1:1', undefined],
  ])('%s', (_, line, shown) => {
    expect(readable(line, false)).toBe(shown)
  })

  test('all of them are shown where everything is asked for', () => {
    expect(readable(entry(30, {}), true)).toBe('worker: a sweep failed')
  })
})

describe('words of an error', () => {
  test('name the cause where it says more', () => {
    expect(wordsOf(new Error('fetch failed', { cause: new Error('ECONNREFUSED') }))).toBe('fetch failed (ECONNREFUSED)')
  })

  test('do not say the same twice', () => {
    expect(wordsOf(new Error('failed: ENOSPC', { cause: new Error('ENOSPC') }))).toBe('failed: ENOSPC')
  })

  test('hold each attempt of a connection', () => {
    expect(wordsOf(new AggregateError([new Error('refused ::1'), new Error('refused 127.0.0.1')]))).toBe(
      'refused ::1; refused 127.0.0.1',
    )
  })
})

test('settings that are missing are named together', () => {
  const ask = () =>
    requireSettings({ DATABASE_URL: '', SMTP_URL: 'smtp://x', SERVICE_KEY: '' }, [
      'DATABASE_URL',
      'SMTP_URL',
      'SERVICE_KEY',
    ])

  expect(ask).toThrow(CommandFailure)
  expect(ask).toThrow(/^DATABASE_URL, SERVICE_KEY are not set/)
})

describe('what a workflow came to', () => {
  test.each([
    ['the outcome it answers', { type: 't', status: 'completed', result: { outcome: 'renewed' } }, 'renewed'],
    ['how it ended, where it answers none', { type: 't', status: 'failed', result: null }, 'failed'],
    ['that it runs', { type: 't', status: 'running', result: undefined }, 'running'],
  ])('is %s', (_, workflow, outcome) => {
    expect(outcomeOf(workflow)).toBe(outcome)
  })
})
