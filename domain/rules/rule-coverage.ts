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
    'The first applicable reason. `notProvisioned`: an Unprovisioned SIM that no rule’s `match` fits; `exempt`, ' +
      '`mode` (Disabled): not evaluated; `match`: no rule’s `match` fits; `stage`: matching rules are in stage off or shadow; `threshold`: they compare with ' +
      '`warningThresholdPct`, which is not set; `settings`: they require other settings',
  ),
  words: Type.String({ description: 'In words' }),
  count: Count('Subjects without an effective rule for this reason'),
  examples: Type.Array(
    strictObject({
      id: Count('SIM or pool id; 0 for the tenant'),
      label: Type.String({ description: 'Name for people' }),
    }),
    { maxItems: MOST_EXAMPLES, description: `The first by id, at most ${MOST_EXAMPLES}` },
  ),
})

const CoveredKind = strictObject({
  kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
  total: Count('Number of subjects'),
  withRule: Count('Subjects with at least one effective rule: attached, in stage log or higher, and able to hold'),
  without: Type.Array(Without, { description: 'Other subjects by reason; reasons without subjects are omitted' }),
})
export type CoveredKind = Static<typeof CoveredKind>

const Undone = strictObject(
  {
    withinHour: Count('Alerts resolved within an hour of firing'),
    acknowledged: Count('Acknowledgements by persons'),
    silences: Count('Silences that name the rule'),
    resumed: Count('Suspensions reversed by a person: by ticket, workflow update or undo'),
  },
  { description: 'Reactions by persons, and early endings, since `since`' },
)

const RuleFigures = strictObject({
  rule: Type.String({ description: 'Name of the rule' }),
  subject: oneOf(SUBJECT_KINDS, 'Kind of subject'),
  stage: Type.String({ description: 'Stage of the rule' }),
  attached: Count('Attached subjects'),
  effective: Count('Subjects with an effective rule: able to hold with their settings, in stage log or higher'),
  fired: Count('Log entries of its firings since `since`; every step of a ladder counts'),
  firedInShadow: Count('Shadow log entries of its firings since `since`; kept for 90 days'),
  lastFiredAt: nullable(Instant('Last firing in either log; null: none in the stored logs')),
  undone: Undone,
})
export type RuleFigures = Static<typeof RuleFigures>

export const RuleCoverage = objectWithExample(
  {
    at: Instant('Time of the count'),
    version: Count('Version of the rules in force; 0: none'),
    since: Instant('Start of the counted firings and reversals'),
    logSince: nullable(Instant('Oldest entry of the tenant’s log; null: empty')),
    subjects: Type.Array(CoveredKind, { description: 'SIMs, pools, the tenant' }),
    rules: Type.Array(RuleFigures, { description: 'Rules in force, most firings first' }),
  },
  {
    at: '2026-11-20T12:00:00.000Z',
    version: 3,
    since: '2026-10-01T00:00:00.000Z',
    logSince: '2026-09-14T08:30:00.000Z',
    subjects: [
      {
        kind: 'sim',
        total: 3,
        withRule: 2,
        without: [
          { reason: 'exempt', words: 'exempt from the watchdog', count: 1, examples: [{ id: 3, label: 'meter 3' }] },
        ],
      },
    ],
    rules: [
      {
        rule: 'sim-overage',
        subject: 'sim',
        stage: 'enforce',
        attached: 2,
        effective: 2,
        fired: 4,
        firedInShadow: 0,
        lastFiredAt: '2026-11-18T07:12:44.000Z',
        undone: { withinHour: 1, acknowledged: 2, silences: 0, resumed: 1 },
      },
    ],
  },
)
export type RuleCoverage = Static<typeof RuleCoverage>

export const CoverageQuery = Type.Object({
  days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 366,
      description: 'Days of firings to count; default: this billing cycle and the previous one',
      examples: [30],
    }),
  ),
  fresh: Type.Optional(Type.Boolean({ default: false, description: 'Whether to add the figures up now' })),
})
export type CoverageQuery = Static<typeof CoverageQuery>
