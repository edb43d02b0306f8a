import { describe, expect, test } from 'vitest'
import { nextWords } from '../../../console/pages/alerts/show.ts'

const rest = { suspension: null, withheld: [], acknowledgedAt: null, silences: [] }
const asks = { what: 'suspends', words: 'It asks for the suspension.' } as const
const suspension = { openedAt: '2026-11-20T12:00:00.000Z', until: 'renewal', workflowId: null } as const

describe('what happens next', () => {
  test('is the suspension, until the SIM is suspended', () => {
    expect(nextWords({ ...rest, phase: 'firing' }, [asks])).toEqual([asks.words])
    expect(nextWords({ ...rest, phase: 'firing', suspension }, [asks])).toEqual([
      'The SIM comes back by itself when the next billing cycle begins.',
    ])
  })

  test('is nothing after the end', () => {
    expect(nextWords({ ...rest, phase: 'resolved' }, [asks])).toEqual([
      'It has ended: nothing, unless its conditions are met again.',
    ])
  })
})
