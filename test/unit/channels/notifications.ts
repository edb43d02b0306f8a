/** Valid notifications: a test sets only the fields that it tests. */

import type { MailLinks } from '../../../adapters/channels/mail/links.ts'
import { sealLink } from '../../../domain/channels/link.ts'
import { LogLevel } from '../../../domain/codes.ts'
import type { AlertNotification, SummaryNotification } from '../../../domain/notifications/notification.ts'
import type { CountedNotice, OperatorNotice } from '../../../domain/notifications/operator-notice.ts'

/** Links of a service at a public address, made with a key of tests. */
export const MAIL_LINKS: MailLinks = {
  serviceUrl: 'https://simherd.example.net/',
  consoleUrl: '',
  sign: (link) => sealLink(Buffer.alloc(32), link, Date.UTC(2026, 11, 21)),
}

export const SIGN_IN = {
  tenantName: 'Acme',
  timeZone: 'Europe/Berlin',
  consoleUrl: 'https://console.example',
  url: 'https://console.example/sign-in/mail/1.x',
  code: '00123456',
  until: new Date('2026-11-20T12:15:00Z'),
}

export const anAlert = (over: Partial<AlertNotification> = {}): AlertNotification => ({
  kind: 'fired',
  key: 'acme/pool-overage/pool/7/2026-11/fired',
  level: LogLevel.Critical,
  at: '2026-11-21T08:40:12.345Z',
  tenantId: 'ten_acme',
  tenantName: 'Acme',
  timeZone: 'UTC',
  rule: { name: 'pool-overage', file: 'rules/pool/pool-overage.json', version: 3, type: 'overage' },
  subject: { kind: 'pool', id: 7, label: 'meters-eu' },
  message: 'Pool meters-eu is 12 MB over its 500 MB.',
  cycle: '2026-11',
  since: '2026-11-21T08:35:00.000Z',
  facts: { usageMB: 512, limitMB: 500, usagePct: 102.4, overageMB: 12 },
  pace: null,
  whatNext: 'The SIMs with the largest excess will be suspended until the cycle ends on 2026-12-01 00:00 UTC.',
  follows: 'SIMs suspended',
  why: [
    { fact: 'overageMB', label: 'data above the limit', value: 12, operator: 'greaterThan', operand: 0, unit: 'MB' },
  ],
  advice: 'How to stop this: Raise the capacity of the pool, or set its watchdog mode to Disabled.',
  ...over,
})

export const aWarning = (over: Partial<AlertNotification> = {}): AlertNotification => {
  const { follows: _, ...alert } = anAlert()
  return {
    ...alert,
    key: 'acme/sim-usage-warning/sim/41/2026-11/fired',
    level: LogLevel.Warning,
    rule: { name: 'sim-usage-warning', file: 'rules/sim/sim-usage-warning.json', version: 3, type: 'usage-warning' },
    subject: { kind: 'sim', id: 41, label: '8944000000000000041' },
    message: 'SIM 8944000000000000041 is at 84.2 % of its limit: 42.1 of 50 MB used.',
    facts: { usageMB: 42.1, limitMB: 50, usagePct: 84.2, overageMB: 0 },
    pace: '2026-11-24T19:00:00.000Z',
    whatNext: 'Nothing: this is for your information.',
    why: [
      {
        fact: 'usagePct',
        label: 'share of the limit used',
        value: 84.2,
        operator: 'greaterThanInclusive',
        operand: 80,
        unit: '%',
      },
    ],
    advice: 'How to stop this: Raise the warning threshold of the SIM, or exempt it from the watchdog.',
    ...over,
  }
}

export const aSummary = (over: Partial<SummaryNotification> = {}): SummaryNotification => ({
  kind: 'summary',
  key: 'acme/summary/2026-11',
  level: LogLevel.Info,
  at: '2026-12-01T00:05:00.000Z',
  tenantId: 'ten_acme',
  tenantName: 'Acme',
  timeZone: 'UTC',
  cycle: { key: '2026-11', startsAt: '2026-11-01T00:00:00.000Z', endsAt: '2026-12-01T00:00:00.000Z' },
  figures: {
    simsByStatus: { Active: 1190, Suspended: 7, Unprovisioned: 3 },
    usageMB: 61_234.567,
    overageMB: 13.25,
    chargesMicro: 1_234_567_890,
    currency: 'EUR',
    movesApplied: 18,
    movesFailed: 2,
    unassigned: 4,
    reactivated: 9,
    stillSuspended: 5,
  },
  adjustments: [],
  failures: [
    { iccid: '8944000000000000031', what: 'move to meters-us', reason: 'The carrier refused: the line is barred' },
    { iccid: '8944000000000000032', what: 'move to meters-us', reason: 'The carrier refused: the line is barred' },
  ],
  pools: [
    { name: 'meters-eu', usageMB: 512, limitMB: 500, overageMB: 12, chargeMicro: 212_000_000 },
    { name: 'trackers', usageMB: 60_722.567, limitMB: 80_000, overageMB: 0, chargeMicro: 1_020_000_000 },
  ],
  ...over,
})

/** Notices of a kind to the operator. */
export const aNotice = (body: OperatorNotice, count = 1, tenant: CountedNotice['tenant'] = null): CountedNotice => ({
  body,
  count,
  tenant,
})
