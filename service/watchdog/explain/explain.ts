/** Explains why rules fired or did not: of an entry of the log at its time, or of a subject now. */
import { ServiceError } from '../../../domain/errors.ts'
import type { ExplainedRule, ExplainQuery, Explanation } from '../../../domain/rules/explanation.ts'
import { checkOneNamed, type Subject, subjectNamed } from '../../../domain/watchdog/subject.ts'
import { TELLING_KINDS, tagOfKey } from '../../../rules/alerts/keys.ts'
import { comparisonsOf } from '../../../rules/explain/words.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { tagPatterns } from '../../alerts/rows/tag-patterns.ts'
import { poolNames } from '../../pools/rows/pools.ts'
import type { ReadRules } from '../../rules/rules-in-force.ts'
import { simLabel } from '../../sims/rows/sims.ts'
import { tenantSettings } from '../../usage/rows/cycles.ts'
import { findEntry, type StoredEntry } from '../rows/followed.ts'
import { decisionsOf } from './explain-decisions.ts'
import { explainSubject } from './explain-subject.ts'
import { enforcedBy, readFollowed, shownEntry } from './read-followed.ts'

/**
 * Explains the entry or subject of a query; without an id the tenant itself.
 *
 * @throws ServiceError `invalid_request` for more than one subject; `log_entry_not_found`, `sim_not_found`,
 *   `pool_not_found`, `tag_not_found`, `rule_not_found`
 */
export function explain(tx: TenantTx, query: ExplainQuery, rules: ReadRules): Promise<Explanation> {
  const { entryId, rule, ...named } = query
  checkOneNamed({ entryId, ...named })
  if (entryId === undefined) return explainSubject(tx, subjectNamed(named), rule, rules)
  if (rule !== undefined)
    throw new ServiceError('invalid_request', 'got entryId and rule; an entry is of its own rule: leave rule out')
  return explainEntry(tx, entryId)
}

/** An entry of the log by the grounds kept with it: as of its time, regardless of later changes. */
async function explainEntry(tx: TenantTx, id: number): Promise<Explanation> {
  const entry = await findEntry(tx, id)
  if (entry === undefined) throw new ServiceError('log_entry_not_found', `There is no entry ${id} in the watchdog log.`)
  const subject = subjectOf(entry)
  const { timeZone } = await tenantSettings(tx)
  return {
    of: 'entry',
    at: new Date(entry.grounds?.at ?? entry.at.getTime()).toISOString(),
    subject: { ...subject, label: entry.grounds?.label ?? (await labelOfSubject(tx, subject)) },
    cycle: entry.cycleKey,
    entry: shownEntry(entry),
    note: noteOn(entry),
    rules: entry.rule === null ? [] : [await ruleOf(tx, { ...entry, rule: entry.rule }, timeZone)],
  }
}

const subjectOf = ({ simId, poolId, key }: StoredEntry): Subject =>
  subjectNamed({ simId, poolId, tagId: tagOfKey(key) })

async function labelOfSubject(tx: TenantTx, { kind, id }: Subject): Promise<string> {
  switch (kind) {
    case 'sim':
      return simLabel(tx, id)
    case 'pool':
      return (await poolNames(tx, [id])).get(id) ?? String(id)
    case 'tag':
      return (await tagPatterns(tx, [id])).get(id) ?? String(id)
    case 'tenant':
      return tx.tenantId
  }
}

function noteOn({ key, grounds }: StoredEntry): string | null {
  if (grounds !== null)
    return 'This is what was found then. Rule, usage and settings may be others now; what followed stands as it does now.'
  if (key.endsWith('/withdrawn'))
    return 'The alert was withdrawn: its rule no longer covered the subject. The message says why.'
  return 'The entry says what was done. No rule decided it then, so there are no comparisons.'
}

async function ruleOf(tx: TenantTx, entry: StoredEntry & { rule: string }, timeZone: string): Promise<ExplainedRule> {
  const { key, rule, grounds, leaves, cycleKey, at, ruleVersion } = entry
  const subject = subjectOf(entry)
  const [followed] = await readFollowed(tx, subject, [
    {
      rule,
      keys: [...new Set([key, ...TELLING_KINDS.map((kind) => key.replace(/[^/]+$/, kind))])],
      since: at.getTime(),
      workflowIds: cycleKey === null ? [] : enforcedBy(tx.tenantId, subject, cycleKey),
      holdIds: grounds?.guard?.hold === undefined ? [] : [grounds.guard.hold],
    },
  ])
  if (followed === undefined) throw new Error('nothing was read of what followed')
  return {
    rule,
    version: ruleVersion,
    isAttached: grounds !== null,
    misfits: [],
    stage: grounds?.stage ?? null,
    mode: grounds?.mode ?? null,
    isMet: grounds === null || grounds.error !== null ? null : grounds.isMet,
    leaves: comparisonsOf(leaves ?? [], subject.kind),
    isClear: grounds?.clear?.isMet ?? null,
    clearLeaves: comparisonsOf(grounds?.clear?.leaves ?? [], subject.kind),
    nearest: [],
    phase: grounds?.phase ?? null,
    since: grounds === null ? null : new Date(grounds.since).toISOString(),
    decisions: grounds === null ? [] : decisionsOf(grounds, timeZone),
    alert: null,
    followed,
  }
}
