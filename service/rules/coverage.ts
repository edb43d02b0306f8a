/** Reports how the rules in force cover a tenant's estate, and the activity of each rule. */
import { Value } from 'typebox/value'
import { labelOf, TariffType, WatchdogMode } from '../../domain/codes.ts'
import {
  type CoverageQuery,
  type CoveredKind,
  MOST_EXAMPLES,
  RuleCoverage,
  type RuleFigures,
  UNCOVERED_REASONS,
  type UncoveredReason,
} from '../../domain/rules/rule-coverage.ts'
import { previousCycle } from '../../domain/time/cycle.ts'
import { governingType } from '../../domain/usage/allowance.ts'
import { settingsInForce } from '../../domain/watchdog/settings.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { concernsTenant, tagPatternsOf } from '../../rules/engine/match.ts'
import { type Effective, effectiveBy, type SubjectClass } from '../../rules/explain/effective.ts'
import type { Rule } from '../../rules/rule.ts'
import type { Keeping } from '../../store/kept-answers.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolNames } from '../pools/rows/pools.ts'
import { simLabels } from '../sims/rows/sims.ts'
import { runningCycle, tenantSettings } from '../usage/rows/cycles.ts'
import { activityByRule, logBegan, NO_ACTIVITY } from './rows/rule-counts.ts'
import { type CountedClass, type Patterns, subjectClasses } from './rows/subject-classes.ts'
import type { ReadRules } from './rules-in-force.ts'

const DAY_MS = 86_400_000

type AnsweredClass = CountedClass & Effective

/**
 * Counts the subjects with and without an effective rule, and the activity of the rules in force. It reads the whole
 * estate and the whole log, in a number of statements independent of their size; PostgreSQL counts the subjects.
 */
export async function coverage(tx: TenantTx, { days }: CoverageQuery, readRules: ReadRules): Promise<RuleCoverage> {
  const { version, rules } = await readRules(tx)
  const effectiveFor = effectiveBy(rules)
  const counted = await subjectClasses(tx, patternsOf(rules, tx.tenantId), MOST_EXAMPLES)
  const classes = counted.map((one) => ({ ...one, ...effectiveFor(ruledClass(one, tx.tenantId)) }))
  const since = await countedSince(tx, days)
  return {
    at: tx.now.toISOString(),
    version,
    since: since.toISOString(),
    logSince: (await logBegan(tx))?.toISOString() ?? null,
    subjects: await coveredKinds(tx, classes),
    rules: await figuresOf(tx, rules, classes, since),
  }
}

/** The coverage since the cycle before the running one, as it is kept: of the rules in force. */
export const keepCoverage = (readRules: ReadRules): Keeping<RuleCoverage> => ({
  kind: 'coverage',
  fits: (kept): kept is RuleCoverage => Value.Check(RuleCoverage, kept),
  stateOf: async (tx, _key, { version }) => ((await readRules(tx)).version === version ? 'current' : 'past'),
  addUp: (tx) => coverage(tx, {}, readRules),
})

async function countedSince(tx: TenantTx, days: number | undefined): Promise<Date> {
  if (days !== undefined) return new Date(tx.now.getTime() - days * DAY_MS)
  const { billingCycle } = await tenantSettings(tx)
  return new Date(previousCycle(billingCycle, await runningCycle(tx)).startsAt)
}

/** The patterns of names and tags that distinguish subjects of a tenant. */
function patternsOf(rules: readonly Rule[], tenantId: string): Patterns {
  const own = rules.filter((rule) => concernsTenant(rule, tenantId))
  const of = (field: 'pool' | 'tag') => [...new Set(own.flatMap(({ match }) => match[field] ?? []))]
  return { pool: of('pool'), tag: of('tag'), together: tagPatternsOf(own) }
}

/** A class as rules see it. A pool's settings are in force as those of a SIM outside pools are. */
function ruledClass(
  { kind, poolName, tag, status, exempt, pool, ...own }: CountedClass,
  tenantId: string,
): SubjectClass {
  const settings = settingsInForce(own, pool)
  const type = governingType(own.ownType, pool?.tariffType ?? null)
  const tariffType = type === null ? null : labelOf(TariffType, type)
  const isDisabled = settings.watchdogMode === WatchdogMode.Disabled
  return {
    matched: { subject: kind, tenantId, poolName, tag, tariffType, status },
    unwatched: exempt ? 'exempt' : isDisabled ? 'mode' : null,
    settings: { ...settings, isWatchdogExempt: exempt, tariffType },
  }
}

const WORDS: Readonly<Record<UncoveredReason, string>> = {
  notProvisioned: 'not provisioned, and no rule’s match fits such a SIM',
  exempt: 'exempt from the watchdog',
  mode: 'the watchdog is Disabled',
  match: 'no rule’s match fits',
  stage: 'the rules that fit are in stage off or shadow: only the operator hears of them',
  threshold: 'the rules that fit compare with warningThresholdPct, and it is not set',
  settings: 'the rules that fit ask for other settings, such as burn rate alerts',
}

const sumOf = (classes: readonly CountedClass[]): number => classes.reduce((sum, { count }) => sum + count, 0)

/** The counts by kind and reason, with the names of the examples. */
async function coveredKinds(tx: TenantTx, classes: readonly AnsweredClass[]): Promise<CoveredKind[]> {
  const without = UNCOVERED_REASONS.flatMap((reason) =>
    SUBJECT_KINDS.flatMap((kind) => {
      const alike = classes.filter((one) => one.kind === kind && one.reason === reason)
      const ids = alike.flatMap((one) => one.ids).toSorted((a, b) => a - b)
      return alike.length === 0 ? [] : [{ kind, reason, count: sumOf(alike), ids: ids.slice(0, MOST_EXAMPLES) }]
    }),
  )
  const idsOf = (kind: SubjectKind) => without.flatMap((one) => (one.kind === kind ? one.ids : []))
  const labels = {
    sim: await simLabels(tx, idsOf('sim')),
    pool: await poolNames(tx, idsOf('pool')),
    tenant: new Map([[0, tx.tenantId]]),
    tag: new Map(classes.flatMap(({ kind, ids, tag }) => (kind === 'tag' ? ids.map((id) => [id, tag ?? '']) : []))),
  }
  return SUBJECT_KINDS.map((kind) => {
    const ofKind = classes.filter((one) => one.kind === kind)
    return {
      kind,
      total: sumOf(ofKind),
      withRule: sumOf(ofKind.filter(({ reason }) => reason === null)),
      without: without
        .filter((one) => one.kind === kind)
        .map(({ reason, count, ids }) => ({
          reason,
          words: WORDS[reason],
          count,
          examples: ids.map((id) => ({ id, label: labels[kind].get(id) ?? String(id) })),
        })),
    }
  })
}

async function figuresOf(tx: TenantTx, rules: readonly Rule[], classes: readonly AnsweredClass[], since: Date) {
  const counts = await activityByRule(tx, since)
  const figures = rules.map(({ name, subject, event }): RuleFigures => {
    const { fired, firedInShadow, lastFiredAt, undone } = counts.get(name) ?? NO_ACTIVITY
    return {
      rule: name,
      subject,
      stage: event.params.stage,
      attached: sumOf(classes.filter(({ attached }) => attached.has(name))),
      effective: sumOf(classes.filter(({ effective }) => effective.has(name))),
      fired,
      firedInShadow,
      lastFiredAt: lastFiredAt?.toISOString() ?? null,
      undone,
    }
  })
  const byName = (a: RuleFigures, b: RuleFigures) => (a.rule < b.rule ? -1 : 1)
  return figures.toSorted((a, b) => b.fired - a.fired || b.firedInShadow - a.firedInShadow || byName(a, b))
}
