import { describe, expect, test } from 'vitest'
import { localDay } from '../../../domain/local-time.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { MB } from '../../../domain/units.ts'
import { endedMessage, fillMessage, firedMessage, resolvedMessage } from '../../../rules/alerts/message.ts'
import { burnFacts, timeFacts } from '../../../rules/facts-of.ts'
import { aRule, NOVEMBER } from './samples.ts'

describe('fillMessage', () => {
  test.each<[string, string | number | boolean | null, string]>([
    ['usageMB', 81.256, '81.2 MB'],
    ['usagePct', 80.254, '80.2 %'],
    ['usagePct', null, 'unknown'],
    ['hoursSinceLastSeen', 0.013, '46 s'],
    ['feedAgeMinutes', 2160, '36 h'],
    ['daysUntilRenewal', 9, '9 d'],
    ['burnLongRatio', 1.9512, '1.95'],
    ['simId', 1234567, '1234567'],
    ['iccid', '8999901000000000018', '8999901000000000018'],
    ['status', 2, 'Suspended'],
    ['watchdogMode', 9, '9'],
    ['neverSeen', true, 'yes'],
    ['tag', 'a\r\nBcc: x', 'a Bcc: x'],
    ['tag', '{{usageMB}}', '{{usageMB}}'],
  ])('writes %s %j as %s', (fact, value, expected) => {
    expect(fillMessage(`<{{${fact}}}>`, { [fact]: value })).toBe(`<${expected}>`)
  })

  test.each([
    ['{{usageMB}} MB used', '42.1 MB used'],
    ['{{usageMB}}MB, {{usagePct}}%', '42.1 MB, 84.2 %'],
    ['{{usagePct}} % of its {{limitMB}} MB.', '84.2 % of its 50 MB.'],
    ['{{ usagePct }} percent', '84.2 %'],
    ['seen {{hoursSinceLastSeen}} hours ago', 'seen 2 d 4 h ago'],
    ['{{feedAgeMinutes}} minutes old', '36 h old'],
    ['{{feedAgeMinutes}}min old', '36 h old'],
    ['in {{daysUntilRenewal}} days', 'in 9 d'],
    ['{{burnLongRatio}} times as fast', '1.9 times as fast'],
    ['{{usageMB}} megabits, {{usagePct}} points', '42.1 MB megabits, 84.2 % points'],
    ['{{daysUntilRenewal}} dark', '9 d dark'],
    ['{{tag}} MB', 'van MB'],
    ['{{lastMB}} MB', 'unknown MB'],
    ['{{usageMB}} MB of {{limitMB}} MB used', '42.1 of 50 MB used'],
    ['{{usageMB}} of {{ limitMB }} used', '42.1 of 50 MB used'],
    ['{{remainingMB}} of {{limitMB}} left', '7.9 of 50 MB left'],
    ['{{tag}} of {{limitMB}}', 'van of 50 MB'],
  ])('fills %j with one unit', (template, expected) => {
    const facts = {
      usageMB: 42.1,
      limitMB: 50,
      remainingMB: 7.9,
      usagePct: 84.2,
      hoursSinceLastSeen: 52,
      feedAgeMinutes: 2160,
      daysUntilRenewal: 9,
      burnLongRatio: 1.9,
      tag: 'van',
    }

    expect(fillMessage(template, facts)).toBe(expected)
  })

  test.each([
    ['EUR', 'It costs {{cost}}, so far.', 'It costs EUR 1,176.53, so far.'],
    ['EUR', '{{cost}} EUR or {{ cost }} USED', 'EUR 1,176.53 or EUR 1,176.53 USED'],
    ['EUR', '{{cost}} PER SIM', 'EUR 1,176.53 PER SIM'],
    ['JPY', '{{cost}}', 'JPY 1,177'],
    [null, '{{cost}}', '1,176.53'],
  ])('writes money in %s with its currency', (currency, template, expected) => {
    expect(fillMessage(template, { cost: 1176.525, currency })).toBe(expected)
  })

  test('tells usage and its limit apart', () => {
    const facts = { usageMB: 100.18, limitMB: 100, usagePct: 100.18, overageMB: 0.18 }

    expect(fillMessage('{{usageMB}} MB used, limit {{limitMB}} MB, {{usagePct}} %', facts)).toBe(
      '100.18 MB used, limit 100 MB, 100.18 %',
    )
    expect(fillMessage('{{usageMB}} of {{limitMB}}, {{overageMB}} over', facts)).toBe('100.18 of 100 MB, 180 kB over')
  })

  test('accepts spaces in braces, leaves other text alone', () => {
    expect(fillMessage('{{ tag }} {tag} }} $& {{tag}}', { tag: '$1' })).toBe('$1 {tag} }} $& $1')
  })
})

describe('firedMessage and resolvedMessage', () => {
  test('use the rule’s own texts', async () => {
    const rule = await aRule({}, { resolvedMessage: 'Back at {{usagePct}} %.' })
    const facts = { poolName: 'Vans', usagePct: 40 }

    expect([firedMessage(rule, facts), resolvedMessage(rule, facts)]).toEqual(['Pool Vans: 40 %', 'Back at 40 %.'])
  })

  test('say how a subject stands now, without a text of the rule', async () => {
    const pool = await aRule()
    const sim = { ...pool, name: 'night', subject: 'sim' as const }
    const facts = { iccid: '8999901000000000018', usageMB: 40, limitMB: 100, usagePct: 40, hoursSinceLastSeen: 0.013 }

    expect(resolvedMessage(sim, facts)).toBe(
      'SIM 8999901000000000018 no longer meets rule night: at 40 % (40 of 100 MB), seen 46 s ago.',
    )
    expect(resolvedMessage(sim, { ...facts, usagePct: null, hoursSinceLastSeen: null })).toBe(
      'SIM 8999901000000000018 no longer meets rule night.',
    )
    expect(resolvedMessage(pool, { poolName: 'Vans', usagePct: null })).toMatch(
      /^Pool Vans no longer meets rule \S+\.$/,
    )
  })
})

describe('endedMessage', () => {
  test.each([
    ['November 2026', NOVEMBER],
    ['the billing cycle from 2026-11-21 02:10 UTC', cycleAt('PT10M', Date.UTC(2026, 10, 21, 2, 10))],
  ])('names %s', (name, cycle) => {
    expect(endedMessage(cycle, 'Pool Vans: 40 %')).toBe(`For ${name}, which has ended: Pool Vans: 40 %`)
  })
})

describe('burnFacts', () => {
  const day = 86_400_000
  const at = NOVEMBER.startsAt + 15 * day
  const used = { usageBytes: 60 * MB, limitBytes: 100 * MB, shortBytes: 2 * MB, longBytes: 10 * MB }
  const known = (to: number) => {
    const windows = { short: new Date(to - day / 4), long: new Date(to - 2.5 * day) }
    return { cycle: NOVEMBER, knownTo: to, windows }
  }

  test('gives shares, burn rates and the forecast', () => {
    const facts = burnFacts(used, known(at))

    expect(facts.usagePct).toBeCloseTo(60)
    expect(facts.burnRatio).toBeCloseTo(1.2)
    expect(facts.burnShortRatio).toBeCloseTo(2.4)
    expect(facts.burnLongRatio).toBeCloseTo(1.2)
    expect(facts.forecastPct).toBeCloseTo(120)
    expect(timeFacts(NOVEMBER, at, localDay(at, 'Europe/Berlin'))).toEqual({
      elapsedPct: 50,
      cycleHours: 720,
      daysUntilRenewal: 15,
      hoursUntilRenewal: 360,
      hourOfDay: 1,
      dayOfWeek: 1,
    })
  })

  test('gives only null at limit 0', () => {
    expect(Object.values(burnFacts({ ...used, limitBytes: 0 }, known(at)))).toEqual([null, null, null, null, null])
  })

  test('gives no rate in the first tenth of the cycle', () => {
    const rates = (days: number) => {
      const { usagePct: _, ...facts } = burnFacts(used, known(NOVEMBER.startsAt + days * day))
      return Object.values(facts).map((rate) => rate !== null)
    }

    expect([rates(-1), rates(2.9), rates(3)]).toEqual([
      [false, false, false, false],
      [false, false, false, false],
      [true, true, true, true],
    ])
  })
})
