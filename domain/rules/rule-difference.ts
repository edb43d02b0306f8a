/** Differences of two rule sets by meaning. */
import { type Static, Type } from 'typebox'
import { nullable, oneOf, strictObject } from '../schema.ts'
import { RuleVersion } from './rule-change.ts'

const ASPECTS = ['when', 'for whom', 'what', 'words'] as const

const Statements = (which: string) =>
  Type.Array(Type.String(), { description: `Statements of the ${which} rule only`, examples: [['level Warning']] })
const Difference = strictObject({
  aspect: oneOf(ASPECTS, 'When the rule fires, for which subjects, its effects, and its texts'),
  field: Type.String({ description: 'Field of the rule file', examples: ['conditions'] }),
  before: Statements('earlier'),
  after: Statements('later'),
})
export type Difference = Static<typeof Difference>

const RuleDifference = strictObject({
  name: Type.String({ description: 'Name of the rule' }),
  change: oneOf(['added', 'removed', 'changed'], 'Change of the rule'),
  differences: Type.Array(Difference, { description: 'Empty for added and removed rules' }),
})
export type RuleDifference = Static<typeof RuleDifference>

export const DifferencesQuery = Type.Object({ since: Type.Optional(RuleVersion) })

export const VersionDifferences = strictObject({
  version: RuleVersion,
  since: nullable(RuleVersion),
  changes: Type.Array(RuleDifference, { description: 'Rules that differ, by name' }),
})
export type VersionDifferences = Static<typeof VersionDifferences>
