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
    fact: Type.String({ description: 'The fact that is compared' }),
    value: Value('Its value; null: unknown'),
    operator: Type.String({ description: 'As in the rule' }),
    operands: Type.Array(Value('What it is compared with'), {
      description: 'One, or the items of a list',
      maxItems: 1000,
    }),
    operandFact: nullable(Type.String({ description: 'The fact that the operand is of; null: the rule gives it' })),
    result: nullable(
      Type.Boolean({ description: 'Whether it is met; null: nobody knows, because a value is unknown' }),
    ),
    words: Words('The same in words'),
  },
  {
    description: 'A comparison of a rule',
    examples: [LEAF],
  },
)
export type Comparison = Static<typeof Comparison>

const MISFITS = ['rules', 'subject', 'exempt', 'mode', 'stage', 'tenant', 'pool', 'tag', 'tariffType'] as const
const Misfit = strictObject({
  field: oneOf(
    MISFITS,
    'A field of `match`, or `stage` of the rule, `mode` or `exempt` of the subject; `subject`: it is gone; `rules`: the rule is not in force',
  ),
  expected: Type.String({ description: 'What the rule asks for' }),
  got: nullable(Type.String({ description: 'What the subject has; null: nothing' })),
  words: Words('The same in words'),
})

const Move = strictObject({
  fact: Type.String({ description: 'The fact that has to move' }),
  from: Value('Its value; null: unknown'),
  to: Value('The value from which on it is enough; null: any other than it has'),
  direction: oneOf(['rises', 'falls', 'becomes'], 'Which way'),
  by: nullable(Type.Number({ description: 'How far, in its unit; null: it is no distance' })),
  isBeyond: Type.Boolean({ description: 'Whether `to` itself is not enough, but anything beyond it is' }),
})

const Nearest = strictObject(
  {
    moves: Type.Array(Move, { description: 'Facts that have to move together; none: time alone does it' }),
    at: nullable(Instant('When time alone does it, if nothing comes')),
    words: Words('The same in words'),
  },
  { description: 'A way for the rule to begin to hold, or to end, with everything else as it is' },
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
  what: oneOf(DECISIONS, 'What was decided, or what holds it back'),
  words: Words('The same in words'),
  silenceId: nullable(Id('The silence that holds it back')),
  holdId: nullable(Id('The hold of the guard that it is in')),
  by: nullable(Type.String({ description: 'The rule that says more of the same' })),
  until: nullable(Instant('Until when')),
})
export type Decision = Static<typeof Decision>

const PHASES = ['inactive', 'pending', 'firing', 'recovering', 'resolved'] as const

const StoredAlert = strictObject(
  {
    phase: oneOf(PHASES, 'Its phase'),
    since: Instant('Since when it is in it'),
    ruleVersion: Type.Integer({ description: 'Version of the rules that changed it last' }),
    changedAt: Instant('When it changed last'),
    leaves: Type.Array(Comparison, { description: 'The comparisons as they were then' }),
    lastSignal: nullable(Type.String({ description: 'What was asked of enforcement last; null: nothing' })),
  },
  { description: 'The alert as it is stored; null: there is none, or it never changed' },
)

const Entry = strictObject({
  id: Id('Log entry id'),
  message: Type.String({ description: 'What it says' }),
  level: codeSchema(LogLevel, 'Log level'),
  date: Instant('When it was written'),
})
const Mail = strictObject({
  id: nullable(Type.String({ description: 'Message-ID; null: it has not been composed yet' })),
  status: oneOf(['waiting', 'pending', 'sent', 'failed'], 'waiting: to be grouped with others'),
  recipient: nullable(Type.String({ description: 'To whom; null: not known yet' })),
  at: Instant('When it was sent, or is due'),
})
const Ticket = strictObject({
  id: Type.String({ format: 'uuid', description: 'Ticket id' }),
  simId: Id('Its SIM'),
  type: Type.String({ description: 'What it asks of the carrier' }),
  status: Type.String({ description: 'What became of it' }),
})
const Workflow = strictObject({
  id: Type.String({ description: 'Workflow id; `simherd workflows show` shows what it did' }),
  state: oneOf(['requested', 'started', 'held'], 'held: a person has ended it, not again in this cycle'),
  at: Instant('When it was started, or is to be asked'),
})
const Hold = strictObject({
  id: Id('Hold of the guard'),
  state: oneOf(['held', 'released', 'discarded', 'lapsed'], 'held: waits for a person'),
})
const Consequences = strictObject(
  {
    entries: Type.Array(Entry, { description: 'Entries of the log' }),
    mails: Type.Array(Mail, { description: 'Mails' }),
    tickets: Type.Array(Ticket, { description: 'Tickets' }),
    workflows: Type.Array(Workflow, { description: 'Workflows' }),
    holds: Type.Array(Hold, { description: 'Holds of the guard' }),
  },
  { description: 'What followed, at most 20 of each, as it stands now' },
)
export type Consequences = Static<typeof Consequences>

const ExplainedRule = strictObject({
  rule: Type.String({ description: 'Name of the rule' }),
  version: nullable(Type.Integer({ description: 'Version of the rules; null: not known' })),
  isAttached: Type.Boolean({ description: 'Whether the rule is attached to the subject' }),
  misfits: Type.Array(Misfit, { description: 'What keeps it from being attached; none if it is' }),
  stage: nullable(Type.String({ description: 'Its stage; null: not known' })),
  mode: nullable(codeSchema(WatchdogMode, 'Watchdog mode in effect; null: of the tenant, or not known')),
  isMet: nullable(Type.Boolean({ description: 'Whether its conditions are met; null: not decided' })),
  leaves: Type.Array(Comparison, { description: 'The comparisons of its conditions, in the order of the file' }),
  isClear: nullable(Type.Boolean({ description: 'Whether its clear conditions are met; null: it has none' })),
  clearLeaves: Type.Array(Comparison, { description: 'The comparisons of its clear conditions' }),
  nearest: Type.Array(Nearest, { description: 'What would turn it, the nearest first; empty for an entry' }),
  phase: nullable(oneOf(PHASES, 'Phase of its alert after the evaluation; null: not decided')),
  since: nullable(Instant('Since when it is in it')),
  decisions: Type.Array(Decision, { description: 'What was decided, and what holds it back' }),
  alert: nullable(StoredAlert),
  followed: Consequences,
})
export type ExplainedRule = Static<typeof ExplainedRule>

const AT = '2026-11-20T12:00:00.000Z'
const EXAMPLE = {
  of: 'subject' as const,
  at: AT,
  subject: { kind: 'sim' as const, id: 1, label: 'meter 1' },
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
          moves: [{ fact: 'usagePct', from: 76.8, to: 80, direction: 'rises' as const, by: 3.2, isBeyond: false }],
          at: null,
          words: 'holds if usagePct rises by 3.2 % to 80 %',
        },
      ],
      phase: 'inactive' as const,
      since: AT,
      decisions: [],
      alert: null,
      followed: { entries: [], mails: [], tickets: [], workflows: [], holds: [] },
    },
  ],
}

export const Explanation = objectWithExample(
  {
    of: oneOf(['entry', 'subject'], 'entry: what was then; subject: what an evaluation would find now'),
    at: Instant('The instant that it is of'),
    subject: strictObject({
      kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
      id: Count('SIM or pool id; 0 for the tenant'),
      label: Type.String({ description: 'As people know it' }),
    }),
    cycle: nullable(Type.String({ description: 'Key of the billing cycle' })),
    entry: nullable(Entry),
    note: nullable(Type.String({ description: 'What else has to be known to read it' })),
    rules: Type.Array(ExplainedRule, {
      description: 'The rule of the entry; or the rules for subjects of this kind, attached ones first',
    }),
  },
  EXAMPLE,
)
export type Explanation = Static<typeof Explanation>

export const ExplainQuery = Type.Object({
  entryId: Type.Optional(Id('An entry of the watchdog log: what was then; beside it nothing else is given')),
  simId: Type.Optional(Id('A SIM as it is now')),
  poolId: Type.Optional(Id('A pool as it is now')),
  rule: Type.Optional(Text('Only this rule, and its alert', 'sim-overage', { minLength: 1, maxLength: 60 })),
})
export type ExplainQuery = Static<typeof ExplainQuery>
