/** Reads the facts of subjects at one instant. The number of statements does not grow with the subjects. */
import type { Cycle } from '../../domain/time/cycle.ts'
import { durationMs } from '../../domain/time/duration.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import { isDecidedAt, type StoredAlert, scopesAt } from '../../rules/alerts/alert-state.ts'
import type { Circumstances } from '../../rules/alerts/decide-subject.ts'
import { byName } from '../../rules/alerts/quiet.ts'
import { isWatched, matchedOf, type SubjectFacts, sharedPoolOf, subjectKey } from '../../rules/alerts/subject.ts'
import { rulesFor } from '../../rules/engine/match.ts'
import type { DeviceChange, FactFigures, JudgedFigures, TenantFactRow } from '../../rules/fact-rows.ts'
import { type FactNames, isAnyNeeded, readFactsOf, readingSims, windowsSince } from '../../rules/facts-needed.ts'
import {
  changeMs,
  forecastShare,
  type Moment,
  momentOf,
  poolFactsOf,
  silentBefore,
  tagFactsOf,
  tenantFactsOf,
  ticketsSince,
} from '../../rules/facts-of.ts'
import type { Rule } from '../../rules/rule.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { loadAlerts } from '../alerts/rows/alerts.ts'
import { openSilences } from '../alerts/rows/silences.ts'
import { tagRows } from '../alerts/rows/tag-patterns.ts'
import type { RulesInForce } from '../rules/rules-in-force.ts'
import { currentCycle, tenantSettings } from '../usage/rows/cycles.ts'
import { deviceChanges } from '../usage/rows/device-changes.ts'
import { readFeed } from '../usage/rows/feed.ts'
import { rowFigures, rowIn, sumOf } from '../usage/rows/figures.ts'
import { sumPools } from '../usage/rows/pool-totals.ts'
import {
  type Among,
  NO_CHARGES,
  NO_SIMS,
  NO_TICKET_COUNTS,
  NO_USAGE,
  overageCharges,
  poolFactRows,
  poolWindowSums,
  scanPools,
  simRows,
  simWindowSums,
  tenantFactRow,
  ticketCounts,
} from './rows/facts.ts'
import { NO_TAGGED_SIMS, scanTags } from './rows/tags.ts'

export interface Situation extends Pick<Circumstances, 'moment' | 'silences' | 'escalateAfterMs' | 'mailsFrom'> {
  readonly tenantId: string
  readonly enforcementEnabled: boolean
  /** IANA name. */
  readonly timeZone: string
  /** Reads the tenant's own row of facts, once: it adds up all its pools. */
  readonly tenant: () => Promise<TenantFactRow | undefined>
  /** For reading only: sums of pools that are not stored are added up at each read. */
  readonly isViewed: boolean
}

/** Reads the situation. Opens the running cycle if need be. @param at epoch milliseconds @param ended an ended cycle */
export async function readSituation(tx: TenantTx, at: number = tx.now.getTime(), ended?: Cycle): Promise<Situation> {
  return situationIn(tx, at, ended ?? (await currentCycle(tx, at)), false)
}

/** The situation in the running cycle, in a read-only transaction. If the cycle is not open yet, there is no usage. */
export const viewSituation = (tx: TenantTx, cycle: Cycle): Promise<Situation> =>
  situationIn(tx, tx.now.getTime(), cycle, true)

async function situationIn(tx: TenantTx, at: number, cycle: Cycle, isViewed: boolean): Promise<Situation> {
  const { billingCycle, enforcementEnabled, escalateAfter, mailsFrom, timeZone, currency } = await tenantSettings(tx)
  let row: Promise<TenantFactRow | undefined> | undefined
  const tenant = () => (row ??= tenantFactRow(tx, cycle.key))
  const feedTimes = await readFeed(tx)
  const silences = await openSilences(tx)
  const escalateAfterMs = escalateAfter === null ? null : durationMs(escalateAfter)
  const moment = momentOf({ at, cycle, billingCycle, timeZone, currency, feedTimes })
  const { tenantId } = tx
  return { tenantId, moment, enforcementEnabled, escalateAfterMs, mailsFrom, timeZone, tenant, silences, isViewed }
}

type SubjectsOf<K extends SubjectKind> = Extract<SubjectFacts, { kind: K }>[]

export async function readSims(
  tx: TenantTx,
  { moment, isViewed }: Situation,
  asked: readonly number[],
  needed: FactNames,
): Promise<SubjectsOf<'sim'>> {
  const { key } = moment.cycle
  const rows = await simRows(tx, moment, asked)
  if (rows.length === 0) return []
  const ids = rows.map(({ simId }) => simId)
  if (!isViewed) await sumPools(tx, key, [...new Set(rows.map(({ poolId }) => poolId ?? 0))])
  const ledger = await rowFigures(tx, key, ids)
  const since = windowsSince('sim', needed, moment.windows)
  const windows = since === null ? new Map() : await simWindowSums(tx, ids, moment.windows, since)
  const factsOf = readingSims(needed)
  return rows.map((sim) => {
    const figures = judgedFigures(ledger.get(sim.simId) ?? [], sim.poolId)
    const row = { ...sim, ...figures, ...(windows.get(sim.simId) ?? NO_USAGE) }
    return { kind: 'sim', id: sim.simId, row, facts: factsOf(row, moment) }
  })
}

/**
 * The figures that a SIM is judged by: the ledger row in its pool. Voice, messages, sessions and `cycleBytes` are sums over all
 * rows of the cycle, because no allowance of a pool covers them.
 *
 * @param poolId null outside pools
 */
function judgedFigures(rows: readonly FactFigures[], poolId: number | null): JudgedFigures {
  const { limitBytes, usageBytes, remainingBytes, overageBytes } = rowIn(rows, poolId)
  const { usageBytes: cycleBytes, voiceSeconds, smsCount } = sumOf(rows)
  const contributing = rows.some((row) => row.contributing && row.poolId === (poolId ?? 0))
  const sessions = rows.reduce((sum, row) => sum + row.sessions, 0)
  const ofPool = { limitBytes, usageBytes, remainingBytes, overageBytes, contributing }
  return { ...ofPool, cycleBytes, voiceSeconds, smsCount, sessions }
}

export async function readPools(
  tx: TenantTx,
  { moment, isViewed }: Situation,
  of: Among,
  needed: FactNames,
): Promise<SubjectsOf<'pool'>> {
  const { cycle, windows } = moment
  if ('ids' in of && !isViewed) await sumPools(tx, cycle.key, of.ids)
  const rows = await poolFactRows(tx, cycle.key, of)
  if (rows.length === 0) return []
  const ids = rows.map(({ poolId }) => poolId)
  const since = windowsSince('pool', needed, windows)
  const used = since === null ? new Map() : await poolWindowSums(tx, ids, windows, since)
  const scanned = isAnyNeeded('pool', needed, 'scan')
    ? await scanPools(tx, cycle.key, ids, new Date(silentBefore(moment)))
    : new Map()
  return rows.map((row) => {
    const all = { ...row, ...(used.get(row.poolId) ?? NO_USAGE), ...(scanned.get(row.poolId) ?? NO_SIMS) }
    return { kind: 'pool', id: row.poolId, row, facts: readFactsOf('pool', needed, poolFactsOf(all, moment)) }
  })
}

/** Reads the tenant as a subject. Its counts of SIMs and pools are always read: the situation has them. */
export async function readTenant(
  tx: TenantTx,
  { tenant, moment }: Situation,
  needed: FactNames,
): Promise<SubjectsOf<'tenant'>> {
  const row = await tenant()
  if (row === undefined) return []
  const [tickets, charges] = isAnyNeeded('tenant', needed, 'window')
    ? [
        await ticketCounts(tx, new Date(ticketsSince(moment))),
        await overageCharges(tx, moment.cycle.key, forecastShare(moment)),
      ]
    : [NO_TICKET_COUNTS, NO_CHARGES]
  const facts = tenantFactsOf({ ...row, ...tickets, ...charges }, moment)
  return [{ kind: 'tenant', id: 0, row, facts: readFactsOf('tenant', needed, facts) }]
}

export async function readTags(
  tx: TenantTx,
  { moment }: Situation,
  of: Among,
  needed: FactNames,
): Promise<SubjectsOf<'tag'>> {
  const tags = await tagRows(tx, of)
  const scanned =
    tags.length > 0 && isAnyNeeded('tag', needed, 'scan')
      ? await scanTags(tx, moment.cycle.key, tags, new Date(silentBefore(moment)))
      : new Map()
  return tags.map(({ id, tag }) => {
    const facts = tagFactsOf({ tag, ...(scanned.get(id) ?? NO_TAGGED_SIMS) }, moment)
    return { kind: 'tag', id, row: { tag }, facts: readFactsOf('tag', needed, facts) }
  })
}

/** Reads the latest changes of device of SIMs found in another device, by SIM. Their facts have one change. */
function readDeviceChanges(
  tx: TenantTx,
  { at, cycle }: Moment,
  subjects: readonly SubjectFacts[],
): Promise<ReadonlyMap<number, readonly DeviceChange[]>> {
  const several = subjects.flatMap((subject) =>
    subject.kind === 'sim' && subject.facts.imeiChanged && subject.row.deviceChanges > 1
      ? [{ simId: subject.id, latest: subject.row.deviceChanges }]
      : [],
  )
  return deviceChanges(tx, several, new Date(at - changeMs(cycle)))
}

/**
 * Reads subjects of any kind. Leaves out those that no longer exist.
 *
 * @param needed facts to read beside those of the subjects' own rows. Others on demand are left out
 */
export async function readSubjects(
  tx: TenantTx,
  situation: Situation,
  subjects: readonly Subject[],
  needed: FactNames,
): Promise<SubjectFacts[]> {
  const idsOf = (kind: SubjectKind) => subjects.filter((subject) => subject.kind === kind).map(({ id }) => id)
  const [simIds, poolIds, tagIds] = [idsOf('sim'), idsOf('pool'), idsOf('tag')]
  return [
    ...(simIds.length === 0 ? [] : await readSims(tx, situation, simIds, needed)),
    ...(poolIds.length === 0 ? [] : await readPools(tx, situation, { ids: poolIds }, needed)),
    ...(idsOf('tenant').length === 0 ? [] : await readTenant(tx, situation, needed)),
    ...(tagIds.length === 0 ? [] : await readTags(tx, situation, { ids: tagIds }, needed)),
  ]
}

export async function alertsOfSharedPools(
  tx: TenantTx,
  subjects: readonly SubjectFacts[],
  moment: Moment,
): Promise<StoredAlert[]> {
  const poolIds = new Set(subjects.map(sharedPoolOf).filter((id) => id !== null))
  if (poolIds.size === 0) return []
  const pools = [...poolIds].map((id): Subject => ({ kind: 'pool', id }))
  return loadAlerts(tx, pools, scopesAt(moment))
}

/** The basis of the decisions on a batch of subjects. */
export interface EvaluationBatch extends Situation, Circumstances {
  readonly tenantName: string
  readonly rulesVersion: number
  /** Alerts of the pools whose data the SIMs among the subjects share. */
  readonly poolAlerts: readonly StoredAlert[]
  /** With the rules attached to each; none if it is not watched. */
  readonly subjects: readonly (SubjectFacts & { readonly rules: readonly Rule[] })[]
  /** Removed subjects to evaluate: pools deleted. */
  readonly gone: readonly Subject[]
}

export async function readBatch(
  tx: TenantTx,
  subjects: readonly Subject[],
  { version, rules, refused }: RulesInForce,
  situation: Situation,
  needed: FactNames,
): Promise<EvaluationBatch> {
  const { moment } = situation
  const decided = rules.filter((rule) => isDecidedAt(rule, moment))
  const read = await readSubjects(tx, situation, subjects, needed)
  const found = new Set(read.map(subjectKey))
  return {
    ...situation,
    deviceChanges: await readDeviceChanges(tx, moment, read),
    tenantName: (await situation.tenant())?.name ?? '',
    rulesVersion: version,
    isRefused: refused !== null,
    rules: byName(rules),
    poolAlerts: await alertsOfSharedPools(tx, read, moment),
    subjects: read.map((subject) => ({
      ...subject,
      rules: isWatched(subject) ? rulesFor(decided, matchedOf(subject, tx.tenantId, moment)) : [],
    })),
    gone: subjects.filter((subject) => !found.has(subjectKey(subject))).map(({ kind, id }) => ({ kind, id })),
  }
}
