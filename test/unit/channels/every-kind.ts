/** Notices of every kind of mail, as the service writes them: the messages are those of the shipped rules. */
import { readFileSync } from 'node:fs'
import { LogLevel } from '../../../domain/codes.ts'
import type { AlertNotification, Notification } from '../../../domain/notifications/notification.ts'
import type { CountedNotice } from '../../../domain/notifications/operator-notice.ts'
import { fillMessage } from '../../../rules/alerts/message.ts'
import type { Facts } from '../../../rules/facts.ts'
import { aNotice, anAlert, aSummary } from './notifications.ts'

/** What differs between alerts. */
type Alert = Partial<AlertNotification>

const RULES = {
  'sim-overage': 'overage',
  'pool-overage': 'overage',
  'sim-usage-warning': 'usage-warning',
  'pool-usage-warning': 'usage-warning',
  'sim-burn-rate': 'burn-rate',
  'sim-silent': 'silent',
  'sim-never-seen': 'silent',
  'sim-imei-change': 'imei-change',
  'usage-feed-silent': 'usage-feed-silent',
} as const
type RuleName = keyof typeof RULES

const folderOf = (rule: RuleName): string => rule.split('-')[0]?.replace('usage', 'tenant') ?? ''

/** A text of a shipped rule, filled with facts. */
function said(rule: RuleName, facts: Facts, which: 'message' | 'resolvedMessage' = 'message'): string {
  const path = `../../../rules/${folderOf(rule)}/${rule}.json`
  const { event } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
  return fillMessage(event.params[which] ?? '', facts)
}

const ABOUT = { at: '2026-11-21T08:40:12.345Z', since: '2026-11-21T08:39:00.000Z', timeZone: 'Europe/Berlin' } as const
const HOW = {
  sim: 'How to stop this: Exempt the SIM from the watchdog, or give it another threshold or mode.',
  pool: 'How to stop this: Give the pool another threshold or mode.',
  tenant: 'How to stop this: Ask whoever runs the service to change the rule.',
  tag: 'How to stop this: Ask whoever runs the service to change the rule.',
} as const
const RENEWS = '2026-12-01 01:00 +01:00 (00:00 UTC)'
const COMES_BACK = `It comes back once the rule no longer holds, at the latest when the next billing cycle begins at ${RENEWS}.`
const NOTHING = { whatNext: 'Nothing: this is for your information.', pace: null }

function of(rule: RuleName, level: LogLevel, also: Alert): AlertNotification {
  const { follows: _, ...alert } = anAlert()
  const kind = also.subject?.kind ?? 'sim'
  return {
    ...alert,
    ...ABOUT,
    key: `${rule}/${also.subject?.id}/2026-11/${also.kind ?? 'fired'}`,
    level,
    rule: { name: rule, file: `${folderOf(rule)}/${rule}.json`, version: 3, type: RULES[rule] },
    advice: HOW[kind],
    why: [],
    ...also,
  }
}

const meter = (n: number) => ({
  kind: 'sim' as const,
  id: n,
  label: `meter-${String(n).padStart(3, '0')}`,
  iccid: `8999901202600${String(100_000 + n)}`,
})
const pool = (id: number, label: string) => ({ kind: 'pool' as const, id, label })
const figures = (usageMB: number, limitMB: number) => ({
  usageMB,
  limitMB,
  usagePct: (100 * usageMB) / limitMB,
  overageMB: Math.max(0, usageMB - limitMB),
})

const isOver = (value: number) =>
  ({
    fact: 'overageMB',
    label: 'data above the limit',
    value,
    operator: 'greaterThan',
    operand: 0,
    unit: 'MB',
  }) as const
const isAt80 = (value: number) =>
  ({
    fact: 'usagePct',
    label: 'share of the limit used',
    value,
    operator: 'greaterThanInclusive',
    operand: 80,
    unit: '%',
  }) as const

function simOver(n: number, usedMB: number, also: Alert = {}): AlertNotification {
  const facts = figures(usedMB, 100)
  return of('sim-overage', LogLevel.Critical, {
    subject: meter(n),
    poolName: n % 15 < 8 ? 'North' : 'South',
    message: said('sim-overage', { ...facts, iccid: meter(n).label, hoursUntilRenewal: 231.4 }),
    facts,
    why: [isOver(facts.overageMB)],
    whatNext: `The watchdog suspends the SIM now, until the next billing cycle begins at ${RENEWS}.`,
    follows: 'suspended',
    ...also,
  })
}

const monitored = {
  whatNext: 'Nothing is suspended: the watchdog only monitors here. In Enforce mode it would suspend the SIM.',
  follows: 'not suspended',
}

const untyped = (rule: RuleName) => ({ name: rule, file: `${folderOf(rule)}/${rule}.json`, version: 3 })
const BRING_BACK =
  'How to bring a SIM back earlier: Raise its limit, or open an activate ticket. Exempting it, or another mode, leaves it suspended.'
const RAISE = 'How to stop this: Raise its limit, exempt the SIM from the watchdog, or set its mode to Monitor.'

const suspended = (n: number, usedMB: number, rule: RuleName = 'sim-overage'): AlertNotification =>
  of(rule, LogLevel.Critical, {
    kind: 'suspended',
    rule: untyped(rule),
    subject: meter(n),
    poolName: rule === 'pool-overage' || n % 15 < 8 ? 'North' : 'South',
    ...(rule === 'pool-overage' ? { causePoolId: 7 } : {}),
    message: `SIM ${meter(n).label} was suspended by rule ${rule}.`,
    facts: figures(usedMB, 100),
    at: '2026-11-21T08:40:20.000Z',
    since: '2026-11-21T08:40:20.000Z',
    whatNext: COMES_BACK,
    whatNextOfMany: COMES_BACK.replace('It comes', 'They come'),
    advice: BRING_BACK,
  })

const broughtBack = (n: number): AlertNotification => ({
  ...suspended(n, 50),
  level: LogLevel.Info,
  kind: 'broughtBack',
  key: `back/${n}`,
  message: `SIM ${meter(n).label} is active again: it is under its limit again.`,
  at: '2026-11-22T10:00:00.000Z',
  since: '2026-11-22T10:00:00.000Z',
  whatNext: 'Nothing: it is active again.',
})

function graceOf(n: number, kind: 'graceStarted' | 'graceEnding'): AlertNotification {
  const [words, unless] = {
    graceStarted: ['has begun', ' unless it comes back under its limit'],
    graceEnding: ['ends', ''],
  }[kind]
  const then = `suspended at 2026-11-22 09:40 +01:00 (08:40 UTC)${unless}.`
  return of('sim-overage', LogLevel.Warning, {
    kind,
    rule: untyped('sim-overage'),
    subject: meter(n),
    poolName: 'North',
    facts: figures(101.5, 100),
    since: ABOUT.at,
    message: `The grace period of SIM ${meter(n).label} ${words}: ${then}`,
    whatNext: `It is ${then}`,
    follows: 'suspended at 2026-11-22 09:40 +01:00',
    advice: RAISE,
  })
}

function simWarning(n: number, usedMB: number, also: Alert = {}): AlertNotification {
  const facts = figures(usedMB, 100)
  const filled = { ...facts, iccid: meter(n).label, warningThresholdPct: 80, elapsedPct: 67.9 }
  return of('sim-usage-warning', LogLevel.Warning, {
    subject: meter(n),
    poolName: 'North',
    message: said('sim-usage-warning', filled),
    facts,
    pace: '2026-11-24T19:00:00.000Z',
    why: [isAt80(facts.usagePct)],
    whatNext: NOTHING.whatNext,
    ...also,
  })
}

function poolWarning(also: Alert = {}): AlertNotification {
  const facts = figures(2407.62, 3000)
  return of('pool-usage-warning', LogLevel.Warning, {
    subject: pool(7, 'North'),
    message: said('pool-usage-warning', { ...facts, poolName: 'North', warningThresholdPct: 80, elapsedPct: 67.9 }),
    facts,
    pace: '2026-11-26T04:10:00.000Z',
    why: [isAt80(facts.usagePct)],
    whatNext: NOTHING.whatNext,
    ...also,
  })
}

function poolOver(id: number, name: string, overMB: number, also: Alert = {}): AlertNotification {
  const facts = figures(3000 + overMB, 3000)
  return of('pool-overage', LogLevel.Critical, {
    subject: pool(id, name),
    message: said('pool-overage', { ...facts, poolName: name, hoursUntilRenewal: 231.4, overSimCount: 14 }),
    facts,
    why: [isOver(overMB)],
    whatNext: `The watchdog suspends SIMs (those with the largest excess, until it covers the overage) now, until the next billing cycle begins at ${RENEWS}.`,
    follows: 'SIMs suspended',
    ...also,
  })
}

const NO_FIGURES = { usageMB: null, limitMB: null, usagePct: null, overageMB: null }

const silent = (n: number, also: Alert = {}): AlertNotification =>
  of('sim-silent', LogLevel.Warning, {
    subject: meter(n),
    poolName: 'North',
    facts: figures(12, 100),
    message: said('sim-silent', { iccid: meter(n).label, hoursSinceLastSeen: 76.2, silentPct: 10.58 }),
    since: '2026-11-18T04:28:00.000Z',
    ...NOTHING,
    ...also,
  })

const seenAgain = (n: number): AlertNotification =>
  silent(n, {
    kind: 'resolved',
    level: LogLevel.Info,
    message: said('sim-silent', { iccid: meter(n).label, hoursSinceLastSeen: 0.0134, status: 1 }, 'resolvedMessage'),
    since: ABOUT.at,
    lastedMs: 76.2 * 3_600_000,
    whatNext: 'Nothing: it is over.',
    why: [],
  })

const feed = (also: Alert = {}): AlertNotification =>
  of('usage-feed-silent', LogLevel.Critical, {
    subject: { kind: 'tenant', id: 'ten_acme', label: 'Acme' },
    message: said('usage-feed-silent', { feedAgeMinutes: 2160, activeSimCount: 1190 }),
    facts: { ...NO_FIGURES, usageMB: 61_234.5, overageMB: 13.25 },
    why: [
      { fact: 'activeSimCount', label: 'Active SIMs', value: 1190, operator: 'greaterThan', operand: 0, unit: null },
      {
        fact: 'feedAgeMinutes',
        label: 'time without usage of the tenant',
        value: 2160,
        operator: 'greaterThanInclusive',
        operand: 2160,
        unit: 'minutes',
      },
    ],
    pace: null,
    whatNext: 'Because of usage nothing is suspended or brought back until it arrives. Have the feed mended.',
    ...also,
  })

const hold = (also: Alert): AlertNotification =>
  of('pool-overage', LogLevel.Critical, {
    key: 'guard/3',
    facts: NO_FIGURES,
    pace: null,
    since: ABOUT.at,
    ...also,
  })

const decide = (what: string) => `What to do: Tell the operator of the service whether the ${what} are right.`

/** Nobody has acknowledged it. */
const escalated = ({ follows: _, ...alert }: AlertNotification): AlertNotification => ({
  ...alert,
  kind: 'escalated',
  at: '2026-11-21T10:40:00.000Z',
  message: `Nobody has acknowledged this: ${alert.message}`,
  whatNext: 'It is not mailed again until it ends. Acknowledge it, so that others know it is looked after.',
})

/** It is of a cycle that is over. */
const ofEnded = ({ cycle: _, ...alert }: AlertNotification): AlertNotification => ({ ...alert, isOfEndedCycle: true })

const thePool = poolOver(7, 'North', 340)
const poolResolved = poolWarning({
  kind: 'resolved',
  level: LogLevel.Info,
  at: '2026-11-22T10:00:00.000Z',
  facts: figures(2340.62, 3000),
  message: said('pool-usage-warning', { ...figures(2340.62, 3000), poolName: 'North' }, 'resolvedMessage'),
  lastedMs: 26 * 3_600_000,
  pace: null,
  whatNext: 'Nothing: it is over.',
})

const OTHER_NAMES = ['South', 'East', 'West quay', 'Harbour', 'Depot 12', 'Station road', 'Old mill', 'Airport']

/** Each kind of mail: what is in it. */
export const EVERY_KIND: Readonly<Record<string, readonly Notification[]>> = {
  'alert-sim-suspended': [simOver(12, 100.18), suspended(12, 100.18)],
  'alert-sim-monitored': [simOver(12, 100.18, monitored)],
  'alert-sim-warning': [simWarning(12, 80.254)],
  'alert-pool-warning': [poolWarning()],
  'alert-info': [simWarning(12, 80.254, { level: LogLevel.Info })],
  'alert-burn-rate': [
    of('sim-burn-rate', LogLevel.Warning, {
      subject: meter(12),
      facts: figures(52.3, 100),
      message: said('sim-burn-rate', {
        ...figures(52.3, 100),
        iccid: 'meter-012',
        burnLongRatio: 2.4567,
        elapsedPct: 21.3,
        forecastPct: 246.1,
      }),
      pace: '2026-11-26T04:10:00.000Z',
      whatNext: NOTHING.whatNext,
    }),
  ],
  'alert-silent': [silent(44)],
  'alert-never-seen': [
    of('sim-never-seen', LogLevel.Warning, {
      subject: meter(45),
      facts: figures(0, 100),
      message: said('sim-never-seen', { iccid: 'meter-045', activeForPct: 15.2 }),
      ...NOTHING,
    }),
  ],
  'alert-device': [
    of('sim-imei-change', LogLevel.Warning, {
      subject: meter(46),
      facts: figures(31, 100),
      message: said('sim-imei-change', { iccid: 'meter-046', imei: '001013000000463' }),
      why: [
        {
          fact: 'imeiChanged',
          label: 'its IMEI has changed',
          value: true,
          operator: 'equal',
          operand: true,
          unit: null,
        },
      ],
      ...NOTHING,
    }),
  ],
  'cause-sims': Array.from({ length: 180 }, (_, n) => [
    simOver(n + 1, 101 + n / 3),
    suspended(n + 1, 101 + n / 3),
  ]).flat(),
  'cause-pool': [thePool, ...Array.from({ length: 12 }, (_, n) => suspended(n + 3, 171 - 5 * n, 'pool-overage'))],
  joined: [thePool, poolOver(8, 'South', 12), simOver(12, 100.18)],
  digest: [
    ...OTHER_NAMES.map((name, n) => poolOver(8 + n, name, 12 + n)),
    ...Array.from({ length: 5 }, (_, n) => simOver(n + 1, 101 + n)),
  ],
  grouped: [
    ...[81, 84.2, 88, 92.5, 99.996].map((used, n) => simWarning(n + 1, used)),
    silent(44),
    silent(47),
    silent(48),
    seenAgain(49),
  ],
  summary: [aSummary({ ...ABOUT, at: '2026-12-01T06:05:00.000Z', statementCsv: 'line\r\n' })],
  'summary-adjusted': [
    aSummary({
      timeZone: 'Europe/Berlin',
      failures: [],
      adjustments: [{ cycle: '2026-10', lines: 3, usageMB: -12.5, chargeMicro: -4_200_000 }],
      statementCsv: 'line\r\n',
      statementLinesLeftOut: 20_001,
    }),
  ],
  'grouped-summary': [aSummary({ statementCsv: 'line\r\n' }), simWarning(12, 80.254)],
  'grace-begins': [graceOf(12, 'graceStarted')],
  'grace-ends': [graceOf(12, 'graceEnding')],
  'grace-of-several': [graceOf(12, 'graceStarted'), graceOf(13, 'graceStarted')],
  'held-suspensions': [
    hold({
      subject: pool(7, 'North'),
      message:
        'Decision needed: 31 suspensions in pool North held. Rule pool-overage of version 3 has suspended 20 SIMs there in the last hour; at most 20 go in an hour. The operator of the service decides on hold 3 until 2026-12-01 01:00 +01:00 (00:00 UTC).',
      whatNext: `This rule suspends nothing more here until the operator decides, at the latest until ${RENEWS}.`,
      advice: decide('suspensions'),
    }),
  ],
  'held-alerts': [
    hold({
      rule: untyped('sim-overage'),
      subject: { kind: 'tenant', id: 'ten_acme', label: 'Acme' },
      message: `Decision needed: 250 alerts of rule sim-overage held. At most 50 alerts of one rule are sent in an hour. 50 were sent; these and all further ones wait: they are logged, but neither mailed nor acted on. The operator of the service decides on hold 3 until ${RENEWS}.`,
      whatNext: `Nothing more of this rule is mailed or acted on until the operator decides, at the latest until ${RENEWS}.`,
      advice: decide('alerts'),
    }),
  ],
  escalated: [escalated(thePool)],
  'escalated-several': [12, 13, 14].map((n) => escalated(simOver(n, 100 + n))),
  suspended: [suspended(12, 100.18)],
  'suspended-several': [suspended(12, 100.18), suspended(13, 104), suspended(14, 120)],
  'brought-back': [broughtBack(12)],
  'brought-back-several': [broughtBack(12), broughtBack(13)],
  resolved: [seenAgain(44)],
  'resolved-pool': [poolResolved],
  'resolved-list': [...[44, 45, 46].map(seenAgain), poolResolved],
  'again-pool': [poolWarning({ times: 2, facts: figures(2404, 3000) })],
  'again-sim': [simOver(12, 100.18, { times: 3 })],
  'feed-stale': [feed()],
  'feed-back': [
    feed({
      kind: 'resolved',
      level: LogLevel.Info,
      message: said('usage-feed-silent', {}, 'resolvedMessage'),
      since: ABOUT.at,
      lastedMs: 4 * 3_600_000,
      why: [],
      whatNext: 'Nothing: it is over.',
    }),
  ],
  'ended-cycle': [
    ofEnded(
      simOver(12, 100.18, {
        at: '2026-12-01T00:03:00.000Z',
        since: '2026-11-30T22:58:00.000Z',
        message: `For November 2026, which has ended: ${simOver(12, 100.18).message}`,
        whatNext: 'Nothing is suspended: the billing cycle has ended.',
        follows: 'the cycle has ended',
      }),
    ),
  ],
}

const ACME = { id: 'ten_acme', name: 'Acme' }

/** Notices to the operator, one of each kind. */
export const OPERATOR_NOTICES: readonly CountedNotice[] = [
  aNotice({
    kind: 'rulesRefused',
    version: 9,
    build: '0.2.0',
    reason: 'sim/sim-quota.json: /conditions/all/0/fact: there is no fact quotaMB; 2 more faults',
    instead: 'version 8 stays in force',
  }),
  aNotice({
    kind: 'rulesChanged',
    version: 8,
    author: 'Ann',
    actor: 'ann@ops',
    added: ['sim-quota'],
    changed: ['pool-overage'],
    removed: [],
  }),
  aNotice({ kind: 'ruleUndecidable', rule: 'sim-quota', version: 8, error: 'Undefined fact: quotaMB' }, 12, ACME),
  aNotice({
    kind: 'carrierRefuses',
    since: '2026-11-20T08:00:00.000Z',
    answer: 'The carrier refused our secret (401): unauthorized: the secret has expired; check CARRIER_SECRET',
  }),
  aNotice(
    {
      kind: 'mailGivenUp',
      mailId: '<0b7d2c52-5a46-4e55-b8ee-2f0e4aa10e65@simherd>',
      recipient: 'billing@acme.example',
      subject: 'meter-012 over its limit (100.18 of 100 MB): suspended',
      response: '552 5.3.4 Message too big for system',
    },
    1,
    ACME,
  ),
  aNotice({ kind: 'addressRefused', recipient: 'billing@acme.example', response: '550 5.1.1 User unknown' }, 3, ACME),
]
