/** The subjects of a timeline at a moment, with the facts that they would have live. */
import { labelOf, TariffType, WatchdogMode } from '../../domain/codes.ts'
import { settingsInForce } from '../../domain/watchdog/settings.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import { tariffBit } from '../compile/flip.ts'
import type { Matched } from '../engine/match.ts'
import type { Facts } from '../facts.ts'
import { type Moment, poolFactsOf, simFactsOf, tenantFactsOf } from '../facts-of.ts'
import { type Estate, poolRowOf, simRowOf, tenantRowOf } from './estate.ts'
import type { TimelineTest } from './test-file.ts'

export interface TimelineSubject extends Subject {
  /** As the test names it; the tenant is `tenant`. */
  readonly name: string
  readonly facts: Facts
  readonly matched: Matched
  readonly mode: WatchdogMode
  /** Neither exempt nor Disabled. */
  readonly isWatched: boolean
  readonly sharedPoolId: number | null
  /** Bit of the governing tariff of a SIM; 0 for others. */
  readonly tariffs: number
}

export const TENANT = 'tenant'

/** Pools first: their alerts may inhibit those of their SIMs. */
export function subjectsOf(estate: Estate, moment: Moment, tenantId: string): TimelineSubject[] {
  const to = { tenantId, poolName: null, tag: null, tariffType: null }
  const pools = estate.pools.map((pool): TimelineSubject => {
    const row = poolRowOf(estate, pool, moment)
    const tariffType = labelOf(TariffType, row.tariffType)
    return {
      kind: 'pool',
      id: pool.id,
      name: pool.name,
      facts: poolFactsOf(row, moment),
      matched: { ...to, subject: 'pool', poolName: pool.name, tariffType },
      mode: row.mode,
      isWatched: row.mode !== WatchdogMode.Disabled,
      sharedPoolId: null,
      tariffs: 0,
    }
  })
  const sims = estate.sims.map((sim): TimelineSubject => {
    const row = simRowOf(estate, sim, moment)
    const facts = simFactsOf(row, moment)
    const { watchdogMode: mode } = settingsInForce(row, row.pool)
    const isShared = row.tariffType !== null && row.tariffType !== TariffType.Standard
    return {
      kind: 'sim',
      id: sim.id,
      name: sim.name,
      facts,
      matched: { ...to, subject: 'sim', poolName: facts.poolName, tag: facts.tag, tariffType: facts.tariffType },
      mode,
      isWatched: !sim.exempt && mode !== WatchdogMode.Disabled,
      sharedPoolId: isShared ? row.poolId : null,
      tariffs: row.tariffType === null ? 0 : tariffBit(row.tariffType),
    }
  })
  const tenant: TimelineSubject = {
    kind: 'tenant',
    id: 0,
    name: TENANT,
    facts: tenantFactsOf(tenantRowOf(estate, moment), moment),
    matched: { ...to, subject: 'tenant' },
    mode: WatchdogMode.Monitor,
    isWatched: true,
    sharedPoolId: null,
    tariffs: 0,
  }
  return [...pools, tenant, ...sims]
}

/** Names of subjects that a test may speak of. */
export const subjectNames = (
  { sims = {}, pools = {}, facts }: TimelineTest,
  kind: SubjectKind | undefined,
): string[] => (facts === undefined ? [...Object.keys(sims), ...Object.keys(pools), TENANT] : [kind ?? TENANT])
