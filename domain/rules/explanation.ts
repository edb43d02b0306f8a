/** Why rules fired or did not, for an entry of the log or a subject now. Texts repeat the fields in words. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel, WatchdogMode } from '../codes.ts'
import { Count, Id, Instant, nullable, objectWithExample, oneOf, strictObject, Text } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'

const Words = (description: string) => Type.String({ description })
const Value = (description: string) =>
  Type.Unsafe<string | number | boolean | null>({ type: ['string', 'number', 'boolean', 'null'], description })

const LEAF = {
  fact: 'usagePct',
  value: 76.8,
  operator: 'greaterThanInclusive',
  operands: [80],
  operandFact: 'warningThresholdPct',
  result: false,
  words: 'usagePct is 76.8 %: not at least 80 % (warningThresholdPct)',
}
const Comparison = strictObject(
  {
    fact: Type.String({ description: 'The compared fact' }),
    value: Value('Value of the fact; null: unknown'),
    operator: Type.String({ description: 'Operator in the rule' }),
    operands: Type.Array(Value('An operand'), {
      description: 'A single operand, or the items of a list',
      maxItems: 1000,
    }),
    operandFact: nullable(Type.String({ description: 'Fact of the operand; null: a constant of the rule' })),
    result: nullable(Type.Boolean({ description: 'Whether the comparison is met; null: a value is unknown' })),
    words: Words('In words'),
  },
  { description: 'A comparison of a rule', examples: [LEAF] },
)
export type Comparison = Static<typeof Comparison>

const MISFITS = [
  'rules',
  'subject',
  'exempt',
  'mode',
  'stage',
  'tenant',
  'pool',
  'tag',
  'tariffType',
  'status',
] as const
const Misfit = strictObject({
  field: oneOf(
    MISFITS,
    'A field of `match`, or `stage` of the rule, `mode` or `exempt` of the subject; `subject`: it is gone; `rules`: the rule is not in force',
  ),
  expected: Type.String({ description: 'Value required by the rule' }),
  got: nullable(Type.String({ description: 'Value of the subject; null: none' })),
  words: Words('In words'),
})

const Move = strictObject({
  fact: Type.String({ description: 'The fact to change' }),
  from: Value('Value of the fact; null: unknown'),
  to: Value('Sufficient value; null: any other value'),
  direction: oneOf(['rises', 'falls', 'becomes'], 'Direction'),
  by: nullable(Type.Number({ description: 'Distance in the unit of the fact; null: not a number' })),
  isBeyond: Type.Boolean({ description: 'Whether the value must go beyond `to`' }),
})

const Nearest = strictObject(
  {
    moves: Type.Array(Move, { description: 'Facts to change together; empty: only time passes' }),
    at: nullable(Instant('Time of the change if only time passes')),
    words: Words('In words'),
  },
  { description: 'A change that makes the rule hold, or end, with the other facts unchanged' },
)

const DECISIONS = [
  'undecided',
  'stale',
  'pending',
  'recovering',
  'tells',
  'toldBefore',
  'silenced',
  'inhibited',
  'unsubscribed',
  'held',
  'discarded',
  'stage',
  'mode',
  'enforcementOff',
  'suspends',
  'wouldSuspend',
  'postponed',
  'notOpen',
] as const
export type DecisionKind = (typeof DECISIONS)[number]

const Decision = strictObject({
  what: oneOf(DECISIONS, 'The decision, or its obstacle'),
  words: Words('In words'),
  silenceId: nullable(Id('The silence')),
  holdId: nullable(Id('The hold of the guard')),
  by: nullable(Type.String({ description: 'The inhibiting rule' })),
  until: nullable(Instant('End of the obstacle')),
})
export type Decision = Static<typeof Decision>

const PHASES = ['inactive', 'pending', 'firing', 'recovering', 'resolved'] as const

const StoredAlert = strictObject(
  {
    phase: oneOf(PHASES, 'Phase of the alert'),
    since: Instant('Start of the phase'),
    ruleVersion: Type.Integer({ description: 'Version of the rules at the last change' }),
    changedAt: Instant('Time of the last change'),
    leaves: Type.Array(Comparison, { description: 'Comparisons at that time' }),
    lastSignal: nullable(Type.String({ description: 'Last signal to enforcement; null: none' })),
  },
  { description: 'The stored alert; null: none, or never changed' },
)

const Entry = strictObject({
  id: Id('Log entry id'),
  message: Type.String({ description: 'Text of the entry' }),
  level: codeSchema(LogLevel, 'Log level'),
  date: Instant('Time of the entry'),
})
const Mail = strictObject({
  id: nullable(Type.String({ description: 'Message-ID; null: not composed yet' })),
  status: oneOf(['waiting', 'pending', 'sent', 'failed'], 'waiting: to be grouped with others'),
  recipient: nullable(Type.String({ description: 'Recipient; null: not known yet' })),
  at: Instant('Time sent or due'),
})
const Ticket = strictObject({
  id: Type.String({ format: 'uuid', description: 'Ticket id' }),
  simId: Id('SIM of the ticket'),
  type: Type.String({ description: 'Type of the ticket' }),
  status: Type.String({ description: 'Status of the ticket' }),
})
const Workflow = strictObject({
  id: Type.String({ description: 'Workflow id; see `simherd workflows show`' }),
  state: oneOf(['requested', 'started', 'held'], 'held: a person has ended it for this cycle'),
  at: Instant('Time of the start, or of the planned request'),
})
const Hold = strictObject({
  id: Id('Hold of the guard'),
  state: oneOf(['held', 'released', 'discarded', 'lapsed'], 'held: waits for a person'),
})
export const Consequences = strictObject(
  {
    entries: Type.Array(Entry, { description: 'Entries of the log' }),
    mails: Type.Array(Mail, { description: 'Mails' }),
    tickets: Type.Array(Ticket, { description: 'Tickets' }),
    workflows: Type.Array(Workflow, { description: 'Workflows' }),
    holds: Type.Array(Hold, { description: 'Holds of the guard' }),
  },
  { description: 'Consequences in their present state, at most 20 of each kind' },
)
export type Consequences = Static<typeof Consequences>

const ExplainedRule = strictObject({
  rule: Type.String({ description: 'Name of the rule' }),
  version: nullable(Type.Integer({ description: 'Version of the rules; null: unknown' })),
  isAttached: Type.Boolean({ description: 'Whether the rule is attached to the subject' }),
  misfits: Type.Array(Misfit, { description: 'Reasons why it is not attached; empty if attached' }),
  stage: nullable(Type.String({ description: 'Stage of the rule; null: unknown' })),
  mode: nullable(codeSchema(WatchdogMode, 'Watchdog mode in effect, null for the tenant and a tag, or if unknown')),
  isMet: nullable(Type.Boolean({ description: 'Whether its conditions are met; null: not decided' })),
  leaves: Type.Array(Comparison, { description: 'The comparisons of its conditions, in the order of the file' }),
  isClear: nullable(Type.Boolean({ description: 'Whether its clear conditions are met; null: it has none' })),
  clearLeaves: Type.Array(Comparison, { description: 'The comparisons of its clear conditions' }),
  nearest: Type.Array(Nearest, { description: 'Changes that would flip the rule, nearest first; empty for an entry' }),
  phase: nullable(oneOf(PHASES, 'Phase of its alert after the evaluation; null: not decided')),
  since: nullable(Instant('Start of the phase')),
  decisions: Type.Array(Decision, { description: 'Decisions and obstacles' }),
  alert: nullable(StoredAlert),
  followed: Consequences,
})
export type ExplainedRule = Static<typeof ExplainedRule>

const AT = '2026-11-20T12:00:00.000Z'

export const Explanation = objectWithExample(
  {
    of: oneOf(['entry', 'subject'], 'entry: the past decision; subject: the result of an evaluation now'),
    at: Instant('Time of the decision'),
    subject: strictObject({
      kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
      id: Count('Id of the SIM, the pool or the tag; 0 for the tenant'),
      label: Type.String({ description: 'Name for people' }),
    }),
    cycle: nullable(Type.String({ description: 'Key of the billing cycle' })),
    entry: nullable(Entry),
    note: nullable(Type.String({ description: 'Further information for the reader' })),
    rules: Type.Array(ExplainedRule, {
      description: 'The rule of the entry, or the rules for this kind of subject, attached ones first',
    }),
  },
  {
    of: 'subject',
    at: AT,
    subject: { kind: 'sim', id: 1, label: 'meter 1' },
    cycle: '2026-11',
    entry: null,
    note: null,
    rules: [
      {
        rule: 'sim-usage-warning',
        version: 3,
        isAttached: true,
        misfits: [],
        stage: 'notify',
        mode: WatchdogMode.Monitor,
        isMet: false,
        leaves: [LEAF],
        isClear: null,
        clearLeaves: [],
        nearest: [
          {
            moves: [{ fact: 'usagePct', from: 76.8, to: 80, direction: 'rises', by: 3.2, isBeyond: false }],
            at: null,
            words: 'holds if usagePct rises by 3.2 % to 80 %',
          },
        ],
        phase: 'inactive',
        since: AT,
        decisions: [],
        alert: null,
        followed: { entries: [], mails: [], tickets: [], workflows: [], holds: [] },
      },
    ],
  },
)
export type Explanation = Static<typeof Explanation>

export const ExplainQuery = Type.Object({
  entryId: Type.Optional(Id('An entry of the watchdog log: the past decision; give no other parameter')),
  simId: Type.Optional(Id('A SIM now')),
  poolId: Type.Optional(Id('A pool now')),
  tagId: Type.Optional(Id('The SIMs of a tag now: `subject.id` of an alert about one')),
  rule: Type.Optional(Text('Only this rule, and its alert', 'sim-overage', { minLength: 1, maxLength: 60 })),
})
export type ExplainQuery = Static<typeof ExplainQuery>
