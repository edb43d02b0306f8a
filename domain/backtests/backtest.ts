/** Backtests: what rules would have done in past billing cycles of a tenant, as the internal interface has it. */
import { type Static, Type } from 'typebox'
import { Actor } from '../caller.ts'
import { RuleVersion } from '../rules/rule-change.ts'
import { Count, Id, Instant, nullable, oneOf, strictObject, Text } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'

export const MOST_CYCLES = 3

const perDay = (description: string) => Type.Number({ minimum: 0, description })

const RuleCounts = strictObject({
  rule: Text('Name of the rule', 'sim-overage'),
  entries: Count('Entries of the watchdog log'),
  fired: Count('Alerts that fired'),
  wouldLog: Count('In stage `shadow`: entries that it would have written'),
  wouldMail: Count('In stage `shadow`: notices that it would have mailed'),
  wouldSuspend: Count('Suspensions that its stage or the mode of the subject kept it from'),
  suspended: Count('Suspensions'),
})
export type RuleCounts = Static<typeof RuleCounts>

const Loud = strictObject({
  kind: oneOf(SUBJECT_KINDS, 'What the subject is'),
  id: nullable(Id('Id of the SIM or the pool; null: the tenant')),
  label: Text('Tag or ICCID of the SIM, or name of the pool', 'meter 17'),
  entries: Count('Its entries'),
})
/** Subjects with the most entries. `id` is of a SIM or a pool; null: of the tenant. */
export type Loud = Static<typeof Loud>

const BesideLog = strictObject({
  both: Count('Entries that the replay and the log have'),
  onlyReplay: Count('Entries that only the replay has'),
  onlyLog: Count('Entries that only the log has'),
  examples: Type.Array(
    strictObject({
      where: oneOf(
        ['replay', 'log'],
        '`replay`: only these rules wrote it; `log`: only the tenant’s log has it',
      ),
      key: Text('Key of the entry', 'sim-overage/sim/7/2026-11/1/fired'),
      at: Instant('When'),
      message: Text('What it says', 'SIM meter 17 is 5 MB over its limit.'),
    }),
    { description: 'The earliest of both kinds that only one of the two has' },
  ),
})
/** Entries of the replay compared with those of the tenant's log, by their keys. */
export type BesideLog = Static<typeof BesideLog>

export const BacktestReport = strictObject({
  tenantId: Text('Whose past', 'tf622080bc0a0'),
  from: Instant('Start of the first cycle'),
  until: Instant('End of the last'),
  version: nullable(Type.Integer({ minimum: 1, description: 'Version of the rules; null: files that are not stored' })),
  records: Count('Usage records that were replayed'),
  seconds: Count('How long it took'),
  rules: Type.Array(RuleCounts, { description: 'What each rule did; one that did nothing is left out' }),
  mails: Type.Array(
    strictObject({ recipient: Text('Address', 'billing@meadow.example'), mails: Count('Mails to it') }),
    { description: 'Mails by recipient' },
  ),
  noise: strictObject({
    entriesPerDay: perDay('Entries a day'),
    mailsPerDay: perDay('Mails a day'),
    fired: Count('Alerts that fired'),
    overWithinHour: Count('Those of them that ended within an hour'),
    loudest: Type.Array(Loud, { description: 'The subjects with the most entries' }),
  }),
  log: BesideLog,
  undecided: strictObject({
    records: Count('Usage records that do not count: a correction would take a total below 0'),
    tickets: Count('Tickets of persons that do not fit what these rules have done'),
    settings: Count('Changes of settings of SIMs and pools that are not there'),
  }),
  limits: Type.Array(Text('One of them', 'Tickets take effect when they ended.'), {
    description: 'What a backtest cannot know',
  }),
})
export type BacktestReport = Static<typeof BacktestReport>

const fields = {
  id: Id('Id of the backtest'),
  tenantId: Text('Whose past', 'tf622080bc0a0'),
  version: nullable({ ...RuleVersion, description: 'Version of the rules; null: files that are not stored' }),
  cycles: Type.Integer({ description: 'How many of the billing cycles that ended last' }),
  state: oneOf(['queued', 'running', 'done', 'failed'], 'One runs at a time, the oldest first'),
  actor: nullable(Actor),
  askedAt: Instant('When it was asked for'),
  startedAt: nullable(Instant('When it was begun last; null: not yet')),
  endedAt: nullable(Instant('When it was done or failed; null: not yet')),
  records: nullable(Count('Usage records in all; null: not counted yet')),
  recordsDone: Count('Usage records that are replayed'),
  failure: nullable(Text('Why it failed; else null', 'The backtest has taken 30 minutes: take fewer cycles.')),
}

export const Backtest = strictObject(fields)
export type Backtest = Static<typeof Backtest>

export const BacktestDetail = strictObject({ ...fields, report: nullable(BacktestReport) })
export type BacktestDetail = Static<typeof BacktestDetail>
