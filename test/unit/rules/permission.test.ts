import { describe, expect, test } from 'vitest'
import { SimStatus, WatchdogMode } from '../../../domain/codes.ts'
import { permitted } from '../../../rules/alerts/permission.ts'
import { fitsPattern, isAttached, mayWatchStock } from '../../../rules/engine/match.ts'
import type { Stage } from '../../../rules/rule-file.ts'
import { aRule, examplesOf, leaf } from './samples.ts'

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
  const to = {
    subject: 'pool',
    tenantId: 't1',
    poolName: 'Vans',
    tag: null,
    tariffType: 'Dynamic Pool',
    status: null,
  } as const

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
    const sim = { ...to, subject: 'sim', poolName: null, status: SimStatus.Active } as const

    expect([
      isAttached(ofPools, sim),
      isAttached(ofSims, sim),
      isAttached(ofSims, { ...sim, poolName: 'Vans' }),
    ]).toEqual([false, false, true])
  })

  test.each<[string, readonly string[] | undefined, readonly (keyof typeof SimStatus)[]]>([
    ['no statuses', undefined, ['Active', 'Suspended']],
    ['stock', ['Unprovisioned'], ['Unprovisioned']],
    ['what is not in use', ['Suspended', 'Unprovisioned'], ['Unprovisioned', 'Suspended']],
  ])('a rule with %s sees SIMs of these statuses', async (_, status, seen) => {
    const rule = await aStockRule(status === undefined ? {} : { status })
    const sim = { ...to, subject: 'sim', poolName: null } as const
    const labels = Object.keys(SimStatus).filter((label): label is keyof typeof SimStatus => label in SimStatus)

    expect(labels.filter((label) => isAttached(rule, { ...sim, status: SimStatus[label] }))).toEqual(seen)
  })
})

const aStockRule = (match: object, params = {}) =>
  aRule(
    {
      subject: 'sim',
      match,
      conditions: { all: [leaf('statusAgeHours', 'greaterThan', 'P90D')] },
      examples: examplesOf({ statusAgeHours: 2161 }, { statusAgeHours: 2160 }),
    },
    { message: 'x', ...params },
  )

describe('mayWatchStock', () => {
  test.each<[object, string, boolean]>([
    [{ status: ['Unprovisioned'] }, 'log', true],
    [{ status: ['Active', 'Unprovisioned'], tag: 'spare*', tenant: 't*' }, 'shadow', true],
    [{ status: ['Unprovisioned'] }, 'off', false],
    [{ status: ['Unprovisioned'], tenant: 'u*' }, 'log', false],
    [{ status: ['Suspended'] }, 'log', false],
    [{}, 'log', false],
  ])('for match %j in stage %s is %j', async (match, stage, expected) => {
    expect(mayWatchStock([await aStockRule(match, { stage })], 't1')).toBe(expected)
  })
})
