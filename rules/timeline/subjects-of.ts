/** The subjects of a timeline at a moment, with the facts that they would have live. */
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { SubjectFacts } from '../alerts/subject.ts'
import { type Moment, poolFactsOf, simFactsOf, tenantFactsOf } from '../facts-of.ts'
import { type Estate, poolRowOf, simRowOf, tenantRowOf } from './estate.ts'
import type { TimelineTest } from './test-file.ts'

/** A subject by its name in the test; the tenant is `tenant`. */
export type TimelineSubject = SubjectFacts & { readonly name: string }

export const TENANT = 'tenant'

/** Pools first: their alerts may inhibit those of their SIMs. */
export function subjectsOf(estate: Estate, moment: Moment): TimelineSubject[] {
  const pools = estate.pools.map((pool): TimelineSubject => {
    const row = poolRowOf(estate, pool, moment)
    return { kind: 'pool', id: pool.id, name: pool.name, row, facts: poolFactsOf(row, moment) }
  })
  const sims = estate.sims.map((sim): TimelineSubject => {
    const row = simRowOf(estate, sim, moment)
    return { kind: 'sim', id: sim.id, name: sim.name, row, facts: simFactsOf(row, moment) }
  })
  const row = tenantRowOf(estate, moment)
  return [...pools, { kind: 'tenant', id: 0, name: TENANT, row, facts: tenantFactsOf(row, moment) }, ...sims]
}

/** Names of subjects that a test may speak of. */
export const subjectNames = (
  { sims = {}, pools = {}, facts }: TimelineTest,
  kind: SubjectKind | undefined,
): string[] => (facts === undefined ? [...Object.keys(sims), ...Object.keys(pools), TENANT] : [kind ?? TENANT])
