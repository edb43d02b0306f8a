import { describe, expect, test, vi } from 'vitest'
import type { Pending, RunInfo } from '../../../cli/workflows/ask.ts'
import { liveLine } from '../../../cli/workflows/live-line.ts'
import { standOf } from '../../../cli/workflows/progress.ts'
import { pendingLines, runLines } from '../../../cli/workflows/run-text.ts'

const TICKET = '7f3a1c2e-0000-4000-8000-000000000001'
const aRun = (over: Partial<RunInfo> = {}): RunInfo => ({
  workflowId: 'provision-and-activate:t0123456789ab:7',
  runId: '01a1',
  type: 'provision-and-activate',
  status: 'running',
  startedAt: '2026-11-21T15:00:00.000Z',
  closedAt: null,
  state: {
    step: 'activating',
    activateTicket: TICKET,
    steps: [{ step: 'provision', at: '2026-11-21T15:00:01.000Z', outcome: 'complete', ticketId: 'a-ticket' }],
    waitsFor: { what: `ticket ${TICKET}`, until: '2026-11-22T15:00:00.000Z', why: 'the carrier has to activate it' },
  },
  input: { simId: 7, poolId: 3, tag: 'door 4' },
  result: null,
  failure: null,
  ...over,
})
const aPending = (over: Partial<Pending> = {}): Pending => ({
  workflowId: '',
  runId: '',
  status: 'running',
  workers: 1,
  task: null,
  activities: [],
  children: [],
  ...over,
})
const anActivity = (over: Partial<Pending['activities'][number]>): Pending['activities'][number] => ({
  activityId: '1',
  type: 'readSim',
  status: 'waiting',
  attempt: 4,
  scheduledAt: '2026-11-21T15:00:00.000Z',
  startedAt: '2026-11-21T15:00:10.000Z',
  heartbeatAt: null,
  nextAttemptAt: null,
  lastFailure: null,
  ...over,
})

describe('runLines', () => {
  test('shows the steps, their tickets and the wait', () => {
    const lines = runLines(aRun())

    expect(lines[0]).toBe('provision-and-activate of SIM 7, pool 3: running, activating')
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}2026-11-21 15:00:01 {2}provision {2}a-ticket {2}complete$/),
    )
    expect(lines).toContain(`Waits for ticket ${TICKET} until 2026-11-22 15:00:00: the carrier has to activate it`)
    expect(lines.filter((line) => /^ {2}(?:steps|waitsFor)\b/.test(line))).toEqual([])
  })

  test('shows the outcome and duration of an ended run', () => {
    const failure = { step: 'activate', ticketId: TICKET, code: 'line_unknown', detail: 'no such line' }
    const lines = runLines(
      aRun({
        status: 'completed',
        closedAt: '2026-11-21T15:03:20.000Z',
        result: { outcome: 'compensated', failure, failures: [{ simId: 7, code: 'line_unknown' }] },
      }),
    )

    expect(lines[0]).toBe('provision-and-activate of SIM 7, pool 3: completed, compensated')
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}ended +2026-11-21 15:03:20, after 3 min 20 s$/))
    expect(lines).toContain(`  failure  step activate, ticketId ${TICKET}, code line_unknown, detail no such line`)
    const failures = ['  failures', '    simId  code', '    ─────  ────────────', '    7      line_unknown']
    expect(lines.slice(-4)).toEqual(failures)
    expect(lines.filter((line) => line.startsWith('Waits'))).toEqual([])
  })

  test('shows only the status when no worker answers', () => {
    const lines = runLines(aRun({ state: 'suspended' }), { pending: aPending({ workers: 0 }) })

    expect(lines[0]).toBe('provision-and-activate of SIM 7, pool 3: running, suspended')
    expect(lines).toContainEqual(expect.stringContaining('no worker asks for its work'))
    expect(lines).toContainEqual(expect.stringContaining('steps and waits are not known'))
    expect(lines).not.toContain('State')
  })
})

describe('pendingLines', () => {
  const { state } = aRun()
  const FAILED = {
    nextAttemptAt: '2026-11-21T15:01:00.000Z',
    lastFailure: { code: 'unavailable', detail: 'no database' },
  }
  test.each([
    ['begins at 2026-11-21 15:01:00; the last one failed: unavailable: no database', FAILED],
    ['runs since 2026-11-21 15:00:10', { status: 'running' as const }],
    ['waits for a worker', {}],
  ])('shows an attempt that %s', (what, activity) => {
    expect(pendingLines(aPending({ activities: [anActivity(activity)] }), state)).toEqual([
      `  readSim: attempt 4 ${what}`,
    ])
  })

  test('shows ten activities and counts the rest', () => {
    const lines = pendingLines(aPending({ activities: Array.from({ length: 12 }, () => anActivity({})) }), state)
    expect([lines.length, lines.at(-1)]).toEqual([11, '  … and 2 more'])
  })

  test('shows a failed attempt of the workflow’s code', () => {
    const lastFailure = { code: 'internal_error', detail: '[TMPRL1100] Nondeterminism' }
    expect(pendingLines(aPending({ task: { attempt: 9, scheduledAt: null, lastFailure } }), state)).toEqual([
      '  its own code: attempt 9 failed: internal_error: [TMPRL1100] Nondeterminism',
    ])
  })
})

describe('standOf', () => {
  const figures = {
    done: 12_400,
    failed: 3,
    left: 87_597,
    ratePerSecond: 41.23,
    estimatedEndAt: '2026-11-21T15:30:12Z',
  }
  const pace = '; 41.2/s, ends about 2026-11-21 15:30:12'

  const waiting = `activating; waits for ticket ${TICKET} until 2026-11-22 15:00:00: the carrier has to activate it`
  const cancelled = { status: 'cancelled', state: null, result: { outcome: 'cancelled' } } as const
  const counts = { waiting: 5, running: 2, activated: 9, failed: 1, cancelled: 0 }
  const moving = { step: 'move', progress: { unassign: { done: 1, failed: 0, left: 0 }, move: figures } }
  const closing = {
    step: 'close',
    progress: { unassign: { done: 0, failed: 0, left: 0 }, move: { done: 8, failed: 2, left: 0 } },
    steps: [],
    waitsFor: { what: 'the close', until: '2026-12-01T06:00:00Z', why: 'late records' },
  }
  const closes = 'move 8 done, 2 failed, 0 left; waits for the close until 2026-12-01 06:00:00: late records'
  test.each<[string, Partial<RunInfo>, string]>([
    ['the wait', {}, waiting],
    ['the outcome', { status: 'completed', result: { outcome: 'activated' } }, 'completed, activated'],
    ['the status alone, if the outcome repeats it', cancelled, 'cancelled'],
    ['running, if nothing more is known', { state: null }, 'running'],
    ['counts and rate', { state: figures }, `running: 12,400 done, 3 failed, 87,597 left${pace}`],
    ['the outcomes in a batch', { state: { counts, left: 7 } }, 'running: 9 activated, 1 failed, 7 left'],
    ['the figures of the current step', { state: moving }, `move: 12,400 done, 3 failed, 87,597 left${pace}`],
    ['all counts and the wait, between steps', { state: closing }, `close: ${closes}`],
  ])('shows on one line %s', (_, over, line) => {
    expect(standOf(aRun(over)).line).toBe(line)
  })

  test('treats a new status as news, not new counts', () => {
    const later = { ...figures, done: 12_500, ratePerSecond: 50 }
    const [now, then] = [standOf(aRun({ state: figures })), standOf(aRun({ state: later }))]
    const end = standOf(aRun({ state: later, status: 'completed' }))
    expect(now.line).not.toBe(then.line)
    expect(now.news).toBe(then.news)
    expect(end.news).not.toBe(then.news)
  })
})

describe('liveLine', () => {
  function anOutput(more: { isTTY?: boolean; columns?: number } = {}) {
    const written: string[] = []
    return { written, write: (text: string) => written.push(text), ...more }
  }

  test('rewrites its line on a terminal, cut to width', () => {
    const output = anOutput({ isTTY: true, columns: 12 })
    const live = liveLine(output)

    live.show('one')
    live.show('one')
    live.show('a line too long for it')
    live.end()

    expect(output.written).toEqual(['\r\u001b[2Kone', '\r\u001b[2Ka line too…', '\n'])
  })

  test('writes to a pipe on news, else every 10 s', () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(20_000)
    const output = anOutput()
    const live = liveLine(output)

    live.show('running: 3 left', 'running')
    clock.mockReturnValue(29_000)
    live.show('running: 2 left', 'running')
    clock.mockReturnValue(30_000)
    live.show('running: 1 left', 'running')
    clock.mockReturnValue(45_000)
    live.show('running: 1 left', 'running')
    live.show('completed: 0 left', 'completed')
    live.end()
    clock.mockRestore()

    expect(output.written).toEqual(['running: 3 left\n', 'running: 1 left\n', 'completed: 0 left\n'])
  })
})
