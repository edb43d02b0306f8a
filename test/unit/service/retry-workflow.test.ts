import { describe, expect, test } from 'vitest'
import type { WorkflowType } from '../../../domain/temporal/ids.ts'
import type { RunStatus } from '../../../domain/workflows/workflow.ts'
import { retryOf } from '../../../service/workflows/retry-of.ts'

const THROUGH = 'is through its list: start the SIMs that failed again by a batch of their own'
const INPUT = { tenantId: 't0123456789ab', simId: 7, tag: 'door 4' }
const retry = (type: WorkflowType, status: RunStatus, outcome: string | null, input: unknown = INPUT) =>
  retryOf({ workflowId: `${type}:x`, type, status, result: outcome === null ? null : { outcome }, input })

describe('retryOf', () => {
  test.each<[WorkflowType, RunStatus, string | null]>([
    ['provision-and-activate', 'completed', 'failed'],
    ['provision-and-activate', 'completed', 'compensated'],
    ['provision-and-activate', 'cancelled', 'cancelled'],
    ['provision-and-activate', 'terminated', null],
    ['suspend-on-overage', 'completed', 'failed'],
    ['suspend-on-overage', 'timedOut', null],
    ['enforce-pool', 'failed', null],
    ['undo-suspensions', 'completed', 'doneWithFailures'],
    ['month-end-timer', 'failed', null],
    ['provision-in-bulk', 'terminated', null],
  ])('restarts %s that is %s with outcome %s', (type, status, outcome) => {
    expect(retry(type, status, outcome)).toMatchObject({ type, workflowId: `${type}:x`, input: INPUT })
  })

  test.each<[WorkflowType, RunStatus, string | null, string]>([
    ['provision-and-activate', 'running', null, 'runs'],
    ['provision-and-activate', 'completed', 'activated', 'has ended well: activated'],
    ['provision-and-activate', 'completed', 'alreadyActive', 'has ended well: alreadyActive'],
    ['suspend-on-overage', 'completed', 'renewed', 'has ended well: renewed'],
    ['month-end-reprovision', 'completed', null, 'has ended well'],
    ['month-end-batch', 'failed', null, 'is a part of a month end: start that again'],
    ['provision-in-bulk', 'completed', 'doneWithFailures', THROUGH],
    ['provision-in-bulk', 'cancelled', 'cancelled', THROUGH],
  ])('refuses %s that is %s with outcome %s', (type, status, outcome, why) => {
    expect(() => retry(type, status, outcome)).toThrow(
      expect.objectContaining({ code: 'workflow_not_retryable', message: `workflow ${type}:x ${why}` }),
    )
  })

  test('refuses a run without its input', () => {
    expect(() => retry('provision-and-activate', 'failed', null, null)).toThrow(/what it was started with/)
  })
})

test('retryOf has a suspension take over the last run', () => {
  expect(retry('suspend-on-overage', 'failed', null).input).toEqual({ ...INPUT, takeOver: true })
})

test('retryOf restarts a month end at its first step', () => {
  const input = { tenantId: 't0123456789ab', cycleKey: '2026-10', pageSize: 100 }
  const carried = { step: 'renew', afterSimId: 4 }

  const again = retry('month-end-reprovision', 'failed', null, { ...input, carried })

  expect(JSON.parse(JSON.stringify(again.input))).toEqual(input)
})
