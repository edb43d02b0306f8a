import { describe, expect, test } from 'vitest'
import { MB } from '../../../domain/units.ts'
import { fillMessage, firedMessage, resolvedMessage } from '../../../rules/alerts/message.ts'
import { burnFacts, cycleFacts } from '../../../rules/burn-rates.ts'
import { aRule, NOVEMBER } from './samples.ts'

describe('fillMessage', () => {
  test.each<[string, string | number | boolean | null, string]>([
    ['usageMB', 81.256, '81.26'],
    ['usageMB', 12_345.678, '12,345.7'],
    ['usageMB', 0.000001, '0.000001'],
    ['usageMB', 0, '0'],
    ['usageMB', 80, '80'],
    ['simId', 1234567, '1234567'],
    ['iccid', '8999901000000000018', '8999901000000000018'],
    ['status', 2, 'Suspended'],
    ['watchdogMode', 9, '9'],
    ['usagePct', null, 'unknown'],
    ['neverSeen', true, 'yes'],
    ['tag', 'a\r\nBcc: x', 'a Bcc: x'],
    ['tag', '{{usageMB}}', '{{usageMB}}'],
  ])('writes %s %j as %s', (fact, value, expected) => {
    expect(fillMessage(`<{{${fact}}}>`, { [fact]: value })).toBe(`<${expected}>`)
  })

  test('accepts spaces in braces, leaves other text alone', () => {
    expect(fillMessage('{{ tag }} {tag} }} $& {{tag}}', { tag: '$1' })).toBe('$1 {tag} }} $& $1')
  })
})

describe('firedMessage and resolvedMessage', () => {
  test('use the rule’s own resolvedMessage or a default', async () => {
    const plain = await aRule()
    const own = await aRule({}, { resolvedMessage: 'Back at {{usagePct}} %.' })
    const facts = { poolName: 'Vans', usagePct: 40 }

    expect([firedMessage(plain, facts), resolvedMessage(plain, facts), resolvedMessage(own, facts)]).toEqual([
      'Pool Vans: 40 %',
      'No longer so: Pool Vans: 40 %',
      'Back at 40 %.',
    ])
  })
})

describe('burnFacts', () => {
  const day = 86_400_000
  const at = NOVEMBER.startsAt + 15 * day
  const used = {
    usageBytes: 60 * MB,
    limitBytes: 100 * MB,
    short: { bytes: 2 * MB, ms: day / 4 },
    long: { bytes: 10 * MB, ms: 2.5 * day },
  }

  test('gives shares, burn rates and the forecast', () => {
    const facts = burnFacts(used, NOVEMBER, at)

    expect(facts.usagePct).toBeCloseTo(60)
    expect(facts.burnRatio).toBeCloseTo(1.2)
    expect(facts.burnShortRatio).toBeCloseTo(2.4)
    expect(facts.burnLongRatio).toBeCloseTo(1.2)
    expect(facts.forecastPct).toBeCloseTo(120)
    expect(cycleFacts(NOVEMBER, at)).toEqual({ elapsedPct: 50, cycleHours: 720, daysUntilRenewal: 15 })
  })

  test('gives only null at limit 0', () => {
    expect(Object.values(burnFacts({ ...used, limitBytes: 0 }, NOVEMBER, at))).toEqual([null, null, null, null, null])
  })

  test('gives no rate before its window has passed', () => {
    const facts = burnFacts(used, NOVEMBER, NOVEMBER.startsAt + day)

    expect(facts).toMatchObject({ burnLongRatio: null, forecastPct: null })
    expect(facts.burnShortRatio).not.toBeNull()
  })
})
