/** Backtests: what rules would have done in past billing cycles of a tenant, as the internal interface has it. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { counted } from '../quantity.ts'
import { RuleVersion } from '../rules/rule-change.ts'
import { Actor, Count, Id, Instant, KeyName, nullable, oneOf, strictObject, Text } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'

export const MOST_CYCLES = 3

const perDay = (description: string) => Type.Number({ minimum: 0, description })

const RuleCounts = strictObject({
  rule: Text('Name of the rule', 'sim-overage'),
  entries: Count('Entries of the watchdog log'),
  fired: Count('Alerts that fired'),
  wouldLog: Count('In stage `shadow`: entries that it would have written'),
  wouldMail: Count('In stage `shadow`: notices that it would have mailed'),
  wouldSuspend: Count('Suspensions prevented by its stage or the mode of the subject'),
  suspended: Count('Suspensions'),
})
export type RuleCounts = Static<typeof RuleCounts>

/** The counts of a rule in words, for reports. */
export const RULE_EFFECTS = [
  ['entries', 'entries'],
  ['fired', 'fired'],
  ['suspended', 'suspended'],
  ['wouldLog', 'would log'],
  ['wouldMail', 'would mail'],
  ['wouldSuspend', 'would suspend'],
] as const

const Loud = strictObject({
  kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
  id: nullable(Id('Id of the SIM or the pool; null: the tenant')),
  label: Text('Tag or ICCID of the SIM, or name of the pool', 'meter 17'),
  entries: Count('Entries of the subject'),
})
/** Subjects with the most entries. `id` is of a SIM or a pool; null: of the tenant. */
export type Loud = Static<typeof Loud>

const BesideLog = strictObject({
  both: Count('Entries in both the replay and the log'),
  onlyReplay: Count('Entries only in the replay'),
  onlyLog: Count('Entries only in the log'),
  examples: Type.Array(
    strictObject({
      where: oneOf(['replay', 'log'], '`replay`: only in the replay; `log`: only in the tenant’s log'),
      key: Text('Key of the entry', 'sim-overage/sim/7/2026-11/1/fired'),
      at: Instant('Time of the entry'),
      message: Text('Text of the entry', 'SIM meter 17 is 5 MB over its limit.'),
    }),
    { description: 'The earliest entries that are only in the replay or only in the log' },
  ),
})
/** Entries of the replay compared with those of the tenant's log, by their keys. */
export type BesideLog = Static<typeof BesideLog>

export const BacktestReport = strictObject({
  tenantId: Text('Tenant id', 'tf622080bc0a0'),
  from: Instant('Start of the first cycle'),
  until: Instant('End of the last cycle'),
  version: nullable(Type.Integer({ minimum: 1, description: 'Version of the rules; null: unstored files' })),
  records: Count('Replayed usage records'),
  seconds: Count('Duration in seconds'),
  rules: Type.Array(RuleCounts, { description: 'Effects by rule; rules without effect are omitted' }),
  mails: Type.Array(
    strictObject({ recipient: Text('Address', 'billing@meadow.example'), mails: Count('Mails to the address') }),
    { description: 'Mails by recipient' },
  ),
  noise: strictObject({
    entriesPerDay: perDay('Entries a day'),
    mailsPerDay: perDay('Mails a day'),
    fired: Count('Alerts that fired'),
    overWithinHour: Count('Alerts that ended within an hour'),
    loudest: Type.Array(Loud, { description: 'The subjects with the most entries' }),
  }),
  log: BesideLog,
  undecided: strictObject({
    records: Count('Usage records not counted: a correction would make a total negative'),
    tickets: Count('Tickets of persons that do not fit the actions of these rules'),
    settings: Count('Changes of settings of missing SIMs and pools'),
  }),
  limits: Type.Array(Text('A limitation', 'Tickets take effect when they ended.'), {
    description: 'Limitations of the backtest',
  }),
})
export type BacktestReport = Static<typeof BacktestReport>

/** `0 records, 2 tickets, 1 setting`. */
export const undecidedWords = ({ records, tickets, settings }: BacktestReport['undecided']): string =>
  `${counted(records, 'record')}, ${counted(tickets, 'ticket')}, ${counted(settings, 'setting')}`

const fields = {
  id: Id('Id of the backtest'),
  tenantId: Text('Tenant id', 'tf622080bc0a0'),
  version: nullable({ ...RuleVersion, description: 'Version of the rules; null: unstored files' }),
  cycles: Type.Integer({ description: 'Number of ended billing cycles, the latest ones' }),
  state: oneOf(['queued', 'running', 'done', 'failed'], 'State; backtests run one at a time, oldest first'),
  actor: nullable(Actor),
  actorName: KeyName,
  askedAt: Instant('Time of the request'),
  startedAt: nullable(Instant('Last start; null: not yet')),
  endedAt: nullable(Instant('Time when it was done or failed; null: not yet')),
  records: nullable(Count('Total of usage records; null: not counted yet')),
  recordsDone: Count('Replayed usage records'),
  failure: nullable(Text('Cause of the failure; else null', 'The backtest has taken 30 minutes: take fewer cycles.')),
}

export const BacktestQuery = Type.Object({
  tenantId: Type.Optional(Text('Backtests of this tenant', 'tf622080bc0a0', { minLength: 1, maxLength: 60 })),
  ...pageQuery,
})
export type BacktestQuery = Static<typeof BacktestQuery>

export const Backtest = strictObject(fields)
export type Backtest = Static<typeof Backtest>

export const BacktestDetail = strictObject({ ...fields, report: nullable(BacktestReport) })
export type BacktestDetail = Static<typeof BacktestDetail>
