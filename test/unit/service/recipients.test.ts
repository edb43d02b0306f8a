import { describe, expect, test } from 'vitest'
import type { Address } from '../../../domain/channels/address.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { recipientsOf } from '../../../service/channels/recipients-of.ts'

let id = 0
const anAddress = (kind: Address['kind'], email: string, over: Partial<Address> = {}): Address => ({
  id: ++id,
  kind,
  email,
  level: null,
  rules: null,
  confirmedAt: null,
  badSince: null,
  createdAt: null,
  ...over,
})
const BAD = { badSince: '2026-11-20T12:00:00.000Z' }
const billing = anAddress('billing', 'billing@meadow.example', { id: null })
const CRITICAL = { level: LogLevel.Critical, rules: ['sim-overage'] }
const WARNING = { level: LogLevel.Warning, rules: ['pool-usage-warning'] }
const SUMMARY = { level: LogLevel.Info, rules: [] }
const emails = (...given: Parameters<typeof recipientsOf>) => recipientsOf(...given).map(({ email }) => email)

describe('recipients of a mail', () => {
  test('are billing and the copies that it fits', () => {
    const all = [
      anAddress('copy', 'all@x.example'),
      anAddress('copy', 'critical@x.example', { level: LogLevel.Critical }),
      anAddress('copy', 'sims@x.example', { rules: 'sim-*' }),
      anAddress('copy', 'both@x.example', { level: LogLevel.Warning, rules: 'pool-*-warning' }),
      anAddress('escalation', 'night@x.example'),
      billing,
    ]

    expect(emails(all, CRITICAL)).toEqual([billing.email, 'all@x.example', 'critical@x.example', 'sims@x.example'])
    expect(emails(all, WARNING)).toEqual([billing.email, 'all@x.example', 'both@x.example'])
    expect(emails(all, SUMMARY)).toEqual([billing.email, 'all@x.example'])
  })

  test('are both billing addresses while the new one is not confirmed', () => {
    const before = anAddress('billing', 'old@meadow.example', { confirmedAt: '2026-01-01T00:00:00.000Z' })

    expect(emails([before, anAddress('billing', 'new@meadow.example')], WARNING)).toEqual([
      'old@meadow.example',
      'new@meadow.example',
    ])
  })

  test('get it once, whatever they are', () => {
    const all = [billing, anAddress('copy', 'Billing@Meadow.example'), anAddress('copy', 'a@x.example')]

    expect(recipientsOf(all, CRITICAL)).toEqual([
      { id: null, email: 'billing@meadow.example' },
      { id: all[2]?.id, email: 'a@x.example' },
    ])
  })

  test('are none for whom no server takes mails', () => {
    const all = [billing, anAddress('copy', 'gone@x.example', BAD), anAddress('copy', 'BILLING@meadow.example', BAD)]

    expect(emails(all, CRITICAL)).toEqual([])
  })
})

describe('an escalation', () => {
  const escalated = { ...CRITICAL, isEscalation: true }

  test('goes to the addresses for it only', () => {
    const all = [billing, anAddress('copy', 'a@x.example'), anAddress('escalation', 'night@x.example')]

    expect(emails(all, escalated)).toEqual(['night@x.example'])
  })

  test('goes to billing where none of those is well', () => {
    const all = [billing, anAddress('copy', 'a@x.example'), anAddress('escalation', 'night@x.example', BAD)]

    expect(emails(all, escalated)).toEqual([billing.email])
    expect(emails([billing], escalated)).toEqual([billing.email])
  })
})
