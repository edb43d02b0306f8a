/** Estate coverage: subjects with an effective rule, and the activity of each rule. Texts repeat the fields. */
import { type Static, Type } from 'typebox'
import { Count, Instant, nullable, objectWithExample, oneOf, strictObject } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'

/** Reasons why a subject has no effective rule, in the order of checks. Each subject counts under the first. */
export const UNCOVERED_REASONS = [
  'notProvisioned',
  'exempt',
  'mode',
  'match',
  'stage',
  'threshold',
  'settings',
] as const
export type UncoveredReason = (typeof UNCOVERED_REASONS)[number]

/** Examples of a reason; the count has them all. */
export const MOST_EXAMPLES = 5

const Without = strictObject({
  reason: oneOf(
    UNCOVERED_REASONS,
    'The first that applies. `notProvisioned`, `exempt`, `mode` (Disabled): nothing is evaluated; `match`: no rule’s `match` fits; ' +
      '`stage`: rules that fit are in stage off or shadow; `threshold`: they compare with `warningThresholdPct`, and it is not set; ' +
      '`settings`: they ask for other settings',
  ),
  words: Type.String({ description: 'The same in words' }),
  count: Count('Subjects without an effective rule for this reason'),
  examples: Type.Array(
    strictObject({
      id: Count('SIM or pool id; 0 for the tenant'),
      label: Type.String({ description: 'As people know it' }),
    }),
    { maxItems: MOST_EXAMPLES, description: `The first by id, at most ${MOST_EXAMPLES}` },
  ),
})

const CoveredKind = strictObject({
  kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
  total: Count('How many there are'),
  withRule: Count('Those with at least one effective rule: attached, in stage log or higher, and able to hold'),
  without: Type.Array(Without, { description: 'The others, by reason; reasons of none are left out' }),
})
export type CoveredKind = Static<typeof CoveredKind>

const Undone = strictObject(
  {
    withinHour: Count('Alerts that resolved within an hour after they had fired'),
    acknowledged: Count('Acknowledgements by persons'),
    silences: Count('Silences that name the rule'),
    resumed: Count('Suspensions that a person took back, by a ticket, a workflow’s update or an undo'),
  },
  { description: 'What persons did about it, and what ended soon, since `since`' },
)

const RuleFigures = strictObject({
  rule: Type.String({ description: 'Name of the rule' }),
  subject: oneOf(SUBJECT_KINDS, 'Kind of subject'),
  stage: Type.String({ description: 'Its stage' }),
  attached: Count('Subjects it is attached to'),
  effective: Count('Those for which it is effective: able to hold with their settings, in stage log or higher'),
  fired: Count('Entries of the log that it fired, since `since`; each step of a ladder is one'),
  firedInShadow: Count('The same of the shadow log, which is kept for 90 days'),
  lastFiredAt: nullable(Instant('When it fired last, in either log; null: never, as far as they go back')),
  undone: Undone,
})
export type RuleFigures = Static<typeof RuleFigures>

const SINCE = '2026-10-01T00:00:00.000Z'
const EXAMPLE = {
  at: '2026-11-20T12:00:00.000Z',
  version: 3,
  since: SINCE,
  logSince: '2026-09-14T08:30:00.000Z',
  subjects: [
    {
      kind: 'sim' as const,
      total: 3,
      withRule: 2,
      without: [
        {
          reason: 'exempt' as const,
          words: 'exempt from the watchdog',
          count: 1,
          examples: [{ id: 3, label: 'meter 3' }],
        },
      ],
    },
  ],
  rules: [
    {
      rule: 'sim-overage',
      subject: 'sim' as const,
      stage: 'enforce',
      attached: 2,
      effective: 2,
      fired: 4,
      firedInShadow: 0,
      lastFiredAt: '2026-11-18T07:12:44.000Z',
      undone: { withinHour: 1, acknowledged: 2, silences: 0, resumed: 1 },
    },
  ],
}

export const RuleCoverage = objectWithExample(
  {
    at: Instant('When it was counted'),
    version: Count('Version of the rules in force; 0: none'),
    since: Instant('From when on firings, and what was undone, are counted'),
    logSince: nullable(Instant('The oldest entry of the tenant’s log; null: it is empty')),
    subjects: Type.Array(CoveredKind, { description: 'SIMs, pools, the tenant' }),
    rules: Type.Array(RuleFigures, { description: 'The rules in force, those that fired most first' }),
  },
  EXAMPLE,
)
export type RuleCoverage = Static<typeof RuleCoverage>

export const CoverageQuery = Type.Object({
  days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 366,
      description: 'Count firings of so many days; left out: of this billing cycle and the one before',
      examples: [30],
    }),
  ),
})
export type CoverageQuery = Static<typeof CoverageQuery>
