/** The rule set in force, and its versions. They are of the platform: the same below each tenant. */
import type { RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import type { VersionDifferences } from '../../../domain/rules/rule-difference.ts'
import { mustAnswer, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'

/** @throws ServiceError `forbidden` */
export const readRules = ({ inside }: Calls) => mustAnswer(inside.GET('/internal/rules'))
export type InForce = Awaited<ReturnType<typeof readRules>>
export type RuleInForce = InForce['rules'][number]

const COUNT_MS = 300

/**
 * Figures of the rules in the tenant. The first count after a change takes seconds with a million SIMs: pages do not wait
 * for it, and it goes on.
 */
export const readCoverage = ({ inside }: Calls): Promise<Part<RuleCoverage>> =>
  tryAnswer(inside.GET('/internal/rules/coverage'), COUNT_MS, {
    missing: 'The SIMs of each rule are being counted: load the page again in a few seconds.',
    isComing: true,
  })

/** The version put in force last, also one that this build refuses; 0: none. */
export const activeVersion = ({ version, refused }: InForce): number => refused?.version ?? version

/** @throws ServiceError `rules_version_not_found`, `forbidden` */
export const readVersion = ({ inside }: Calls, version: number) =>
  mustAnswer(inside.GET('/internal/rules/versions/{version}', { params: { path: { version } } }))
export type RuleVersion = Awaited<ReturnType<typeof readVersion>>

/** Differences to the version in force, or of that to the one before it. */
export const readDifferences = ({ inside }: Calls, version: number): Promise<Part<VersionDifferences>> =>
  tryAnswer(inside.GET('/internal/rules/versions/{version}/differences', { params: { path: { version } } }))
