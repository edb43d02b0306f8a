/** Backtests that have ended, and entries of the shadow log. */
import type { BacktestReport } from '../../../domain/backtests/backtest.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { insertShadowEntries, type NewShadowEntry } from '../../../service/alerts/rows/shadow-log.ts'
import { beginBacktest, endBacktest } from '../../../service/backtests/rows/backtests.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import type { Harness } from '../harness.ts'

const NONE = { entries: 0, fired: 0, suspended: 0, wouldLog: 0, wouldMail: 0, wouldSuspend: 0 }

export const aReport = (over: Partial<BacktestReport> = {}): BacktestReport => ({
  tenantId: 't',
  from: '2026-10-01T00:00:00.000Z',
  until: '2026-11-01T00:00:00.000Z',
  version: 1,
  records: 1234,
  seconds: 5,
  rules: [
    { ...NONE, rule: 'sim-overage', entries: 40, fired: 20, suspended: 8 },
    { ...NONE, rule: 'sim-shadow', wouldLog: 3, wouldMail: 2, wouldSuspend: 4 },
  ],
  mails: [{ recipient: 'billing@meadow.example', mails: 6 }],
  noise: { entriesPerDay: 1.25, mailsPerDay: 0.2, fired: 20, overWithinHour: 5, loudest: [] },
  log: { both: 30, onlyReplay: 10, onlyLog: 2, examples: [] },
  undecided: { records: 0, tickets: 2, settings: 1 },
  limits: ['Tickets take effect when they ended.'],
  ...over,
})

const many = <T>(n: number, make: (n: number) => T): T[] => Array.from({ length: n }, (_, one) => make(one))

/** A report with as much of everything as there may be. */
export function aLongReport(): BacktestReport {
  const { noise, log } = aReport()
  const effects = { entries: 9, fired: 8, suspended: 7, wouldLog: 6, wouldMail: 5, wouldSuspend: 123_456 }
  const at = '2026-10-02T00:00:00.000Z'
  const example = { where: 'log', at, message: 'm'.repeat(500) } as const
  return aReport({
    rules: many(40, (n) => ({ ...effects, rule: `${n}`.padEnd(60, 'r') })),
    mails: many(21, (n) => ({ recipient: `${n}${'c'.repeat(60)}@example.com`, mails: 123_456_789 })),
    noise: { ...noise, loudest: many(10, (id) => ({ kind: 'sim', id: id + 1, label: 'w'.repeat(128), entries: 9 })) },
    log: { ...log, both: 123_456_789, examples: many(20, (n) => ({ ...example, key: `${n}`.padEnd(200, 'k') })) },
  })
}

/** Puts rules in force. @returns their version */
export async function loadRules({ operate }: Harness, spaces = ''): Promise<number> {
  const files = (await readRuleFiles('')).map(({ file, text }) => ({ file, text: `${text}${spaces}` }))
  return (await operate('POST', '/internal/rules', { files, author: 'the tests' })).body.version
}

/** Asks for a backtest. @returns its id */
export const askBacktest = async ({ operate, tenant }: Harness, fields: object = {}): Promise<number> =>
  (await operate('POST', '/internal/rules/backtests', { tenantId: tenant.id, ...fields })).body.id

/** Does a backtest that is the oldest to wait. @param end its report, or why it failed */
export async function doBacktest({ store }: Harness, end: BacktestReport | string): Promise<void> {
  const begun = await inPlatform(store, beginBacktest)
  if (begun !== undefined) await inPlatform(store, (tx) => endBacktest(tx, begun, end))
}

/** Writes entries of the shadow log. Their keys are their messages. */
export const writeShadowLog = ({ store, tenant }: Harness, entries: readonly Partial<NewShadowEntry>[]) =>
  inTenant(store, tenant.id, (tx) =>
    insertShadowEntries(
      tx,
      entries.map((entry, n) => shadowEntry({ message: `${n}`, ...entry })),
    ),
  )

const shadowEntry = (entry: Partial<NewShadowEntry> & Pick<NewShadowEntry, 'message'>): NewShadowEntry => ({
  dedupeKey: entry.message,
  does: 'log',
  rule: 'sim-a',
  ruleVersion: 1,
  simId: null,
  poolId: null,
  level: LogLevel.Warning,
  cycleKey: '2026-11',
  ...entry,
})
