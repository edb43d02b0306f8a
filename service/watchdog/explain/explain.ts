/** Explains why rules fired or did not: of an entry of the log at its time, or of a subject now. */
import { ServiceError } from '../../../domain/errors.ts'
import type { ExplainQuery, Explanation } from '../../../domain/rules/explanation.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import type { ReadRules } from '../../rules/rules-in-force.ts'
import { explainEntry } from './explain-entry.ts'
import { explainSubject } from './explain-subject.ts'

/**
 * Explains the entry or subject of a query; without an id the tenant itself.
 *
 * @throws ServiceError `invalid_request` for more than one subject; `log_entry_not_found`, `sim_not_found`,
 *   `pool_not_found`, `rule_not_found`
 */
export function explain(tx: TenantTx, query: ExplainQuery, rules: ReadRules): Promise<Explanation> {
  const { entryId, simId, poolId, rule } = query
  const given = Object.entries({ entryId, simId, poolId }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  if (given.length > 1)
    throw new ServiceError(
      'invalid_request',
      `got ${given.join(' and ')}, expected one of them, or none for the tenant`,
    )
  if (entryId !== undefined) {
    if (rule !== undefined)
      throw new ServiceError('invalid_request', 'got entryId and rule; an entry is of its own rule: leave rule out')
    return explainEntry(tx, entryId)
  }
  if (simId !== undefined) return explainSubject(tx, { kind: 'sim', id: simId }, rule, rules)
  if (poolId !== undefined) return explainSubject(tx, { kind: 'pool', id: poolId }, rule, rules)
  return explainSubject(tx, { kind: 'tenant', id: 0 }, rule, rules)
}
