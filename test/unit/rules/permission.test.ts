import { describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import { permitted } from '../../../rules/alerts/permission.ts'
import { fitsPattern, isAttached } from '../../../rules/engine/match.ts'
import type { Stage } from '../../../rules/rule-file.ts'
import { aRule, leaf } from './samples.ts'

const { Disabled, Monitor, Enforce } = WatchdogMode

describe('permitted', () => {
  test.each<[Stage, WatchdogMode, string]>([
    ['off', Enforce, 'nothing'],
    ['enforce', Disabled, 'nothing'],
    ['shadow', Enforce, 'nothing'],
    ['log', Enforce, 'log, suspend would'],
    ['notify', Enforce, 'log, notify, suspend would'],
    ['enforce', Monitor, 'log, notify, suspend would'],
    ['enforce', Enforce, 'log, notify, suspend do'],
  ])('gives stage %s in mode %i: %s', (stage, mode, expected) => {
    const { log, notify, suspend } = permitted(stage, mode)

    const may = [log && 'log', notify && 'notify', suspend !== 'no' && `suspend ${suspend}`].filter(Boolean)
    expect(may.join(', ') || 'nothing').toBe(expected)
  })
})

describe('fitsPattern', () => {
  test.each<[string, string, boolean]>([
    ['meters', 'meters', true],
    ['meters', 'meters-1', false],
    ['meters-*', 'meters-1', true],
    ['meters-*', 'meters-', true],
    ['*', '', true],
    ['*-east', 'meters-east', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['aa*aa', 'aaa', false],
    ['a.c', 'abc', false],
    ['Meters', 'meters', false],
  ])('compares %s with %j: %j', (pattern, text, expected) => {
    expect(fitsPattern(pattern, text)).toBe(expected)
  })
})

describe('isAttached', () => {
  const to = { subject: 'pool', tenantId: 't1', poolName: 'Vans', tag: null, tariffType: 'Dynamic Pool' } as const

  test.each<[Record<string, unknown>, boolean]>([
    [{}, true],
    [{ tenant: 't1', pool: 'V*', tariffType: ['Fixed Pool', 'Dynamic Pool'] }, true],
    [{ tariffType: 'Standard' }, false],
    [{ tenant: 't2' }, false],
    [{ pool: 'Lamps' }, false],
  ])('for match %j is %j', async (match, expected) => {
    expect(isAttached(await aRule({ match }), to)).toBe(expected)
  })

  test('keeps pool rules from SIMs outside pools', async () => {
    const ofPools = await aRule()
    const ofSims = await aRule(
      { subject: 'sim', match: { pool: '*' }, conditions: { all: [leaf('usagePct', 'greaterThanInclusive', 80)] } },
      { message: 'x' },
    )
    const sim = { ...to, subject: 'sim', poolName: null } as const

    expect([
      isAttached(ofPools, sim),
      isAttached(ofSims, sim),
      isAttached(ofSims, { ...sim, poolName: 'Vans' }),
    ]).toEqual([false, false, true])
  })
})
