/** Schema of a rule file: json-rules-engine's `conditions` and `event`, and a few fields of our own. */

import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { LogLevel, SimStatus, TariffType } from '../domain/codes.ts'
import { strictObject } from '../domain/schema.ts'
import { SUSPEND_TARGETS, SUSPENDED_UNTIL } from '../domain/temporal/suspend-on-overage.ts'
import { DURATION_PATTERN } from '../domain/time/duration.ts'
import { SUBJECT_KINDS } from '../domain/watchdog/subject.ts'

export const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description: `${description}: ${values.join(', ')}` })
export const labels = <T extends string>(table: Readonly<Record<T, number>>) =>
  Object.keys(table).filter((l): l is T => l in table)

const ACTIONS = ['log', 'email', 'suspend'] as const
export const STAGES = ['off', 'shadow', 'log', 'notify', 'enforce'] as const
export type Stage = (typeof STAGES)[number]
const ONCE = ['cycle', 'episode', 'occurrence'] as const
export const RESOLVE = ['log', 'email', 'none'] as const
export type Resolve = (typeof RESOLVE)[number]

const Name = Type.String({
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  maxLength: 60,
  description: 'Name: the file’s, without .json; lower-case words joined by hyphens, at most 60 characters',
})
const Description = Type.String({
  minLength: 1,
  maxLength: 500,
  description: 'What the rule is for, in words, 1 to 500 characters',
})
const Subject = oneOf(SUBJECT_KINDS, 'What the rule is evaluated for')

const Pattern = (what: string) =>
  Type.String({ minLength: 1, maxLength: 128, description: `${what}; * stands for any characters` })
const TariffLabel = oneOf(labels(TariffType), 'Type of the governing tariff')

export const Match = strictObject(
  {
    tenant: Type.Optional(Pattern('Id of the tenant')),
    pool: Type.Optional(Pattern('Name of the pool')),
    tag: Type.Optional(Pattern('Tag of the SIM; the subject tag needs it: the SIMs that fit are added up')),
    tariffType: Type.Optional(
      Type.Union([TariffLabel, Type.Array(TariffLabel, { minItems: 1, maxItems: 3 })], {
        description: 'Type of the governing tariff, one or a list of: Standard, Dynamic Pool, Fixed Pool',
      }),
    ),
    status: Type.Optional(
      Type.Array(oneOf(labels(SimStatus), 'Status of the SIM'), {
        minItems: 1,
        maxItems: 3,
        uniqueItems: true,
        description: 'Statuses of the SIM, a list of: Unprovisioned, Active, Suspended; left out: Active, Suspended',
      }),
    ),
  },
  { description: 'The subjects the rule is attached to, present and future ones; left out: all' },
)
export type Match = Static<typeof Match>

const Suspend = strictObject(
  {
    target: oneOf(SUSPEND_TARGETS, 'Whom to stop; self for a SIM, the others for a pool'),
    grace: Type.Optional(
      Type.String({
        pattern: DURATION_PATTERN,
        description: 'Time before it is suspended, such as PT2H; left out: none',
      }),
    ),
    until: oneOf(SUSPENDED_UNTIL, 'What brings it back'),
  },
  { description: 'Whom to suspend, how soon and until when' },
)
export type Suspend = Static<typeof Suspend>

const Message = (what: string) =>
  Type.String({ minLength: 1, maxLength: 1000, description: `${what}; {{fact}} stands for a fact’s value` })

export const LadderFile = strictObject(
  {
    fact: Type.String({ maxLength: 60, description: 'The fact whose value is told step by step: a number' }),
    steps: Type.Array(
      strictObject(
        {
          at: Type.Number({
            minimum: 0,
            maximum: 1e12,
            description: 'Least value of the fact, in its unit, from 0 on',
          }),
          level: oneOf(labels(LogLevel), 'Level'),
        },
        { description: 'A step: from which value on, and its level' },
      ),
      { minItems: 1, maxItems: 20, description: '1 to 20 steps, each higher than the one before' },
    ),
    every: Type.Optional(
      Type.Number({
        minimum: 0.01,
        maximum: 1e12,
        description: 'A further step so far above the last, and again; at least 0.01; left out: none',
      }),
    ),
  },
  { description: 'Steps of a value, each told once, with a level of its own' },
)
export type LadderFile = Static<typeof LadderFile>

const Params = strictObject(
  {
    level: Type.Optional(oneOf(labels(LogLevel), 'Level')),
    message: Message('What is said when it fires'),
    resolvedMessage: Type.Optional(Message('What is said when it resolves')),
    actions: Type.Array(oneOf(ACTIONS, 'Action'), {
      minItems: 1,
      maxItems: ACTIONS.length,
      uniqueItems: true,
      description: 'What is done while it fires: log, email, suspend; each at most once',
    }),
    suspend: Type.Optional(Suspend),
    for: Type.Optional(
      Type.String({
        pattern: `${DURATION_PATTERN}|^\\d{1,2}(\\.\\d{1,2})?%$`,
        description:
          'How long the conditions hold before it fires: PT10M, or a share of the cycle: 5%; left out: at once',
      }),
    ),
    keepFiring: Type.Optional(
      Type.String({
        pattern: `${DURATION_PATTERN}|^\\d{1,2}(\\.\\d{1,2})?%$`,
        description:
          'How long it goes on firing after its conditions have ended: PT1H, or a share of the cycle: 5%; left out: not at all',
      }),
    ),
    once: oneOf(ONCE, 'How often it is told'),
    occurrence: Type.Optional(
      Type.String({ maxLength: 60, description: 'The fact whose value names the occurrence, such as deviceChange' }),
    ),
    clear: Type.Optional(
      Type.Unknown({ description: 'Conditions that end it; left out: as soon as its own no longer hold' }),
    ),
    resolve: Type.Optional(oneOf(RESOLVE, 'How its end is told; left out: log')),
    stage: oneOf(STAGES, 'How far it may go'),
  },
  { description: 'What the rule does' },
)

export const RuleEvent = strictObject(
  {
    // The engine uses these three names for its own events.
    type: Type.String({
      pattern: '^(?!(success|failure|error)$)[a-z0-9]+(-[a-z0-9]+)*$',
      maxLength: 60,
      description: 'Kind of event: lower-case words joined by hyphens, other than success, failure, error',
    }),
    params: Params,
  },
  { description: 'What happens when the conditions hold' },
)
export type RuleEvent = Static<typeof RuleEvent>

const FactValues = Type.Record(
  Type.String(),
  Type.Unsafe<string | number | boolean | null>({ type: ['string', 'number', 'boolean', 'null'] }),
  { description: 'Facts by name: every one the conditions read' },
)
export const Examples = Type.Array(
  strictObject(
    {
      fires: Type.Boolean({ description: 'Whether the conditions hold: true or false' }),
      facts: FactValues,
      step: Type.Optional(Type.Number({ description: 'With a ladder: the highest step that is reached' })),
    },
    { description: 'Facts, and whether the rule fires on them' },
  ),
  { minItems: 2, maxItems: 50, description: '2 to 50 examples, at least one that fires and one that does not' },
)
export type Examples = Static<typeof Examples>

const Schema = Type.Optional(Type.String({ maxLength: 300, description: 'The schema, for editors' }))

/** The findings of the linter. A rule may mute a finding, with the reason: `"lint": {"no-clear": "why"}`. */
export const LINT_CODES = {
  impossible: 'its conditions can never be met together',
  always: 'a comparison that is always met',
  duplicate: 'another rule says the same',
  subsumed: 'whenever it fires, another rule fires too and does as much',
  'no-clear': 'told once an episode, over a value that falls, without conditions that clear it',
  returns: 'told once a cycle, over a value that falls and rises: each return is told again',
  flappy: 'its clear is within 5 % of what it fires at',
  'no-evidence':
    'reads a forecast or a rate, and not how much of the cycle has elapsed; or a spike, and not how much was used',
  'feed-blind': 'reads how long a SIM is silent, and not whether the whole feed is',
  'absolute-time': 'compares with less than a day, though a billing cycle may last minutes',
  'mute-message': 'its message names no value that it was decided by',
  unguarded: 'suspends at level Info, or at once: with neither `for` nor grace',
} as const
export type LintCode = keyof typeof LINT_CODES

const Lint = strictObject(
  Object.fromEntries(
    Object.entries(LINT_CODES).map(([code, meaning]) => [
      code,
      Type.Optional(
        Type.String({
          minLength: 10,
          maxLength: 300,
          description: `Why it does not matter here, 10 to 300 characters: ${meaning}`,
        }),
      ),
    ]),
  ),
  { description: 'Findings of `simherd rules lint` that do not matter here, each with the reason' },
)

export const RuleFile = strictObject(
  {
    $schema: Schema,
    name: Name,
    description: Description,
    subject: Subject,
    match: Type.Optional(Match),
    conditions: Type.Optional(Type.Unknown({ description: 'When the rule fires; may be left out beside a ladder' })),
    ladder: Type.Optional(LadderFile),
    event: RuleEvent,
    examples: Examples,
    lint: Type.Optional(Lint),
  },
  { description: 'A rule of the watchdog' },
)
export type RuleFile = Static<typeof RuleFile>

/** File with conditions that rules share as `{"condition": "name"}`, in a folder named `conditions`. */
export const SharedConditionFile = strictObject(
  { $schema: Schema, name: Name, description: Description, subject: Subject, conditions: Type.Unknown() },
  { description: 'Conditions that several rules share' },
)

/** Limits of a rule set. Beyond them, a mistake is likelier than a need. */
export const BOUNDS = {
  files: 500,
  /** Patterns of tags that rules for the same tenants add up SIMs by: each look goes through the estate. */
  tagPatterns: 50,
  fileChars: 65_536,
  /** Depth of nested brackets in a file. Conditions have a separate limit. */
  textDepth: 32,
  /** Longest `for`, `keepFiring` and grace: longer than any billing cycle. */
  durationDays: 366,
  /** Conditions in a rule. Shared ones count at each use. */
  nodes: 200,
  depth: 8,
  listItems: 1000,
  textChars: 500,
} as const

export const isRuleFile = (value: unknown): value is RuleFile => Value.Check(RuleFile, value)
