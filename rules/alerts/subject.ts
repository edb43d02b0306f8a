/** Subjects of rules: SIMs, pools, the tenant and tags, with their facts. */
import { SimStatus, WatchdogMode } from '../../domain/codes.ts'
import { settingsInForce, type WatchdogSettings } from '../../domain/watchdog/settings.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import type { MatchProperties } from '../engine/match.ts'
import type { JudgedFigures, PoolFactRow, SimRow, TagFactRow, TenantFactRow } from '../fact-rows.ts'
import type { ReadFactsOf } from '../facts.ts'
import type { Moment } from '../facts-of.ts'

interface Of<K extends SubjectKind, Row> extends Subject {
  readonly kind: K
  readonly row: Row
  readonly facts: ReadFactsOf<K>
}
export type SubjectFacts =
  | Of<'sim', SimRow & JudgedFigures>
  | Of<'pool', PoolFactRow>
  | Of<'tenant', TenantFactRow>
  | Of<'tag', TagFactRow>

/** Kinds of subjects in a sentence. */
export const NOUNS = { sim: 'SIM', pool: 'pool', tenant: 'tenant', tag: 'tag' } as const

export function subjectLabel(subject: SubjectFacts): string {
  switch (subject.kind) {
    case 'sim':
      return subject.row.tag === '' ? subject.row.iccid : subject.row.tag
    case 'pool':
      return subject.row.poolName
    case 'tenant':
      return subject.row.name
    case 'tag':
      return subject.row.tag
  }
}

/** The pool of a SIM, or the pool itself. */
export const poolIdOf = ({ row }: SubjectFacts): number | null => ('poolId' in row ? row.poolId : null)

/** Id of the pool whose data a SIM shares; null for other subjects. */
export function sharedPoolOf(subject: SubjectFacts): number | null {
  if (subject.kind !== 'sim' || subject.row.poolId === null) return null
  const { tariffType } = subject.facts
  return tariffType === 'Dynamic Pool' || tariffType === 'Fixed Pool' ? subject.row.poolId : null
}

/** The mode in force. A tenant and a tag have none: Monitor. */
export function modeOf(subject: SubjectFacts): WatchdogMode {
  switch (subject.kind) {
    case 'sim':
      return settingsInForce(subject.row, subject.row.pool).watchdogMode
    case 'pool':
      return subject.row.mode
    case 'tenant':
    case 'tag':
      return WatchdogMode.Monitor
  }
}

/** The mode of a SIM or a pool; null for subjects that have none. */
export const ownModeOf = (subject: SubjectFacts): WatchdogMode | null =>
  'poolId' in subject.row ? modeOf(subject) : null

/** In an ended cycle a SIM that has been unprovisioned since counts as Active: it was, where it used something. */
const statusAt = ({ status }: SimRow, { isEnded }: Pick<Moment, 'isEnded'>): SimStatus =>
  isEnded && status === SimStatus.Unprovisioned ? SimStatus.Active : status

export function matchedOf(subject: SubjectFacts, tenantId: string, moment: Pick<Moment, 'isEnded'>): MatchProperties {
  switch (subject.kind) {
    case 'sim': {
      const { poolName, tag, tariffType } = subject.facts
      return { subject: 'sim', tenantId, poolName, tag, tariffType, status: statusAt(subject.row, moment) }
    }
    case 'pool': {
      const { poolName, tariffType } = subject.facts
      return { subject: 'pool', tenantId, poolName, tag: null, tariffType, status: null }
    }
    case 'tenant':
      return { subject: 'tenant', tenantId, poolName: null, tag: null, tariffType: null, status: null }
    case 'tag':
      return { subject: 'tag', tenantId, poolName: null, tag: subject.row.tag, tariffType: null, status: null }
  }
}

/** Whether rules are evaluated for it: neither exempt nor Disabled. */
export const isWatched = (subject: SubjectFacts): boolean =>
  subject.kind === 'sim' ? isWatchedSim(subject.row) : modeOf(subject) !== WatchdogMode.Disabled

export const isWatchedSim = (row: Pick<SimRow, keyof WatchdogSettings | 'pool' | 'exempt'>): boolean =>
  !row.exempt && settingsInForce(row, row.pool).watchdogMode !== WatchdogMode.Disabled

/** A map key for a subject: `<kind>/<id>`. */
export const subjectKey = ({ kind, id }: Subject): string => `${kind}/${id}`
