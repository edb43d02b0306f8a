/** Reports how the rules in force cover a tenant's estate, and the activity of each rule. */
import { labelOf, TariffType, WatchdogMode } from '../../domain/codes.ts'
import {
  type CoverageQuery,
  type CoveredKind,
  MOST_EXAMPLES,
  type RuleCoverage,
  type RuleFigures,
  UNCOVERED_REASONS,
  type UncoveredReason,
} from '../../domain/rules/rule-coverage.ts'
import { previousCycle } from '../../domain/time/cycle.ts'
import { governingType } from '../../domain/usage/allowance.ts'
import { settingsInForce } from '../../domain/watchdog/settings.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { concernsTenant } from '../../rules/engine/match.ts'
import { type Effective, effectiveBy, type SubjectClass } from '../../rules/explain/effective.ts'
import type { Rule } from '../../rules/rule.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolNames } from '../pools/rows/pools.ts'
import { simLabels } from '../sims/rows/sims.ts'
import { runningCycle, tenantSettings } from '../usage/rows/cycles.ts'
import { firingsByRule, logBegan, NOTHING_UNDONE, undoneByRule } from './rows/rule-counts.ts'
import { type Patterns, type PoolClass, poolClasses, type SimClass, simClasses } from './rows/subject-classes.ts'
import type { ReadRules } from './rules-in-force.ts'

const DAY_MS = 86_400_000

/** Subjects that rules answer alike, how many they are, and the first of them. */
interface Counted extends SubjectClass {
  readonly count: number
  readonly ids: readonly number[]
}

/**
 * Counts the subjects with and without an effective rule, and the activity of the rules in force. It reads the whole
 * estate and the whole log, in a number of statements independent of their size; PostgreSQL counts the subjects.
 */
export async function coverage(tx: TenantTx, { days }: CoverageQuery, readRules: ReadRules): Promise<RuleCoverage> {
  const { version, rules } = await readRules(tx)
  const effectiveFor = effectiveBy(rules)
  const answered = (await classesOf(tx, rules)).map((one) => ({ ...one, ...effectiveFor(one) }))
  const since = await countedSince(tx, days)
  const began = await logBegan(tx)
  return {
    at: tx.now.toISOString(),
    version,
    since: since.toISOString(),
    logSince: began === null ? null : began.toISOString(),
    subjects: await named(tx, answered),
    rules: await figuresOf(tx, rules, answered, since),
  }
}

async function countedSince(tx: TenantTx, days: number | undefined): Promise<Date> {
  if (days !== undefined) return new Date(tx.now.getTime() - days * DAY_MS)
  const { billingCycle } = await tenantSettings(tx)
  return new Date(previousCycle(billingCycle, await runningCycle(tx)).startsAt)
}

async function classesOf(tx: TenantTx, rules: readonly Rule[]): Promise<Counted[]> {
  const patterns = patternsOf(rules, tx.tenantId)
  const sims = await simClasses(tx, patterns, MOST_EXAMPLES)
  const pools = await poolClasses(tx, patterns, MOST_EXAMPLES)
  const matched = { subject: 'tenant', tenantId: tx.tenantId, poolName: null, tag: null, tariffType: null } as const
  return [
    ...sims.map((one) => ofSims(one, tx.tenantId)),
    ...pools.map((one) => ofPools(one, tx.tenantId)),
    { matched, unwatched: null, settings: {}, count: 1, ids: [0] },
  ]
}

/** The patterns of names and tags that distinguish subjects of a tenant. */
function patternsOf(rules: readonly Rule[], tenantId: string): Patterns {
  const own = rules.filter((rule) => concernsTenant(rule, tenantId))
  const of = (field: 'pool' | 'tag') => [...new Set(own.flatMap(({ match }) => match[field] ?? []))]
  return { pool: of('pool'), tag: of('tag') }
}

const labelled = (type: TariffType | null) => (type === null ? null : labelOf(TariffType, type))

function ofSims(one: SimClass, tenantId: string): Counted {
  const { count, ids, poolName, tag, isProvisioned, exempt, ownType, pool } = one
  const settings = settingsInForce(one, pool)
  const tariffType = labelled(governingType(ownType, pool?.tariffType ?? null))
  const isDisabled = settings.watchdogMode === WatchdogMode.Disabled
  return {
    count,
    ids,
    matched: { subject: 'sim', tenantId, poolName, tag, tariffType },
    unwatched: !isProvisioned ? 'notProvisioned' : exempt ? 'exempt' : isDisabled ? 'mode' : null,
    settings: { ...settings, isWatchdogExempt: exempt, tariffType },
  }
}

function ofPools({ count, ids, poolName, mode, ...one }: PoolClass, tenantId: string): Counted {
  const tariffType = labelled(one.tariffType)
  return {
    count,
    ids,
    matched: { subject: 'pool', tenantId, poolName, tag: null, tariffType },
    unwatched: mode === WatchdogMode.Disabled ? 'mode' : null,
    settings: {
      watchdogMode: mode,
      warningThresholdPct: one.warningThresholdPct,
      enableBurnRateAlerts: one.enableBurnRateAlerts,
      tariffType,
    },
  }
}

type Answered = Counted & Effective

const WORDS: Readonly<Record<UncoveredReason, string>> = {
  notProvisioned: 'not provisioned: there is nothing to watch',
  exempt: 'exempt from the watchdog',
  mode: 'the watchdog is Disabled',
  match: 'no rule’s match fits',
  stage: 'the rules that fit are in stage off or shadow: only the operator hears of them',
  threshold: 'the rules that fit compare with warningThresholdPct, and it is not set',
  settings: 'the rules that fit ask for other settings, such as burn rate alerts',
}

const sumOf = (classes: readonly Counted[]): number => classes.reduce((sum, { count }) => sum + count, 0)

/** The counts by kind and reason, with the names of the examples. */
async function named(tx: TenantTx, answered: readonly Answered[]): Promise<CoveredKind[]> {
  const found = SUBJECT_KINDS.map((kind) => {
    const ofKind = answered.filter(({ matched }) => matched.subject === kind)
    return {
      kind,
      total: sumOf(ofKind),
      withRule: sumOf(ofKind.filter((one) => one.reason === null)),
      without: UNCOVERED_REASONS.flatMap((reason) => {
        const those = ofKind.filter((one) => one.reason === reason)
        const ids = those.flatMap((one) => one.ids).toSorted((a, b) => a - b)
        return those.length === 0 ? [] : [{ reason, count: sumOf(those), ids: ids.slice(0, MOST_EXAMPLES) }]
      }),
    }
  })
  const idsOf = (kind: SubjectKind) =>
    found.filter((one) => one.kind === kind).flatMap(({ without }) => without.flatMap(({ ids }) => ids))
  const labels = { sim: await simLabels(tx, idsOf('sim')), pool: await poolNames(tx, idsOf('pool')) }
  const labelFor = (kind: SubjectKind, id: number) =>
    kind === 'tenant' ? tx.tenantId : (labels[kind].get(id) ?? String(id))
  return found.map(({ kind, without, ...counts }) => ({
    kind,
    ...counts,
    without: without.map(({ reason, count, ids }) => ({
      reason,
      words: WORDS[reason],
      count,
      examples: ids.map((id) => ({ id, label: labelFor(kind, id) })),
    })),
  }))
}

async function figuresOf(
  tx: TenantTx,
  rules: readonly Rule[],
  answered: readonly Answered[],
  since: Date,
): Promise<RuleFigures[]> {
  const firings = new Map((await firingsByRule(tx, since)).map((one) => [one.rule, one]))
  const undone = await undoneByRule(tx, since)
  const figures = rules.map(({ name, subject, event }): RuleFigures => {
    const of = firings.get(name)
    return {
      rule: name,
      subject,
      stage: event.params.stage,
      attached: sumOf(answered.filter(({ attached }) => attached.has(name))),
      effective: sumOf(answered.filter(({ effective }) => effective.has(name))),
      fired: of?.fired ?? 0,
      firedInShadow: of?.firedInShadow ?? 0,
      lastFiredAt: of === undefined ? null : of.lastFiredAt.toISOString(),
      undone: undone.get(name) ?? NOTHING_UNDONE,
    }
  })
  const byName = (a: RuleFigures, b: RuleFigures) => (a.rule < b.rule ? -1 : 1)
  return figures.toSorted((a, b) => b.fired - a.fired || b.firedInShadow - a.firedInShadow || byName(a, b))
}
