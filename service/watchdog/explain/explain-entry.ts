/** Explains an entry of the log by the grounds kept with it: as of its time, regardless of later changes. */
import { ServiceError } from '../../../domain/errors.ts'
import type { ExplainedRule, Explanation } from '../../../domain/rules/explanation.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import type { TellingKind } from '../../../rules/alerts/keys.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { poolNames } from '../../pools/rows/pools.ts'
import { simLabel } from '../../sims/rows/sims.ts'
import { tenantSettings } from '../../usage/rows/cycles.ts'
import type { Grounds } from '../grounds.ts'
import { findEntry, type StoredEntry } from '../rows/followed.ts'
import { comparisonsOf } from './comparisons-of.ts'
import { decisionsOf } from './explain-decisions.ts'
import { enforcedBy, readFollowed, shownEntry } from './read-followed.ts'

type Entry = StoredEntry<Grounds>

/** @throws ServiceError `log_entry_not_found` */
export async function explainEntry(tx: TenantTx, id: number): Promise<Explanation> {
  const entry = await findEntry<Grounds>(tx, id)
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
    rules: entry.rule === null ? [] : [await ruleOf(tx, entry, entry.rule, subject, timeZone)],
  }
}

function subjectOf({ simId, poolId }: Entry): Subject {
  if (simId !== null) return { kind: 'sim', id: simId }
  return poolId === null ? { kind: 'tenant', id: 0 } : { kind: 'pool', id: poolId }
}

async function labelOfSubject(tx: TenantTx, { kind, id }: Subject): Promise<string> {
  if (kind === 'sim') return simLabel(tx, id)
  return kind === 'pool' ? ((await poolNames(tx, [id])).get(id) ?? String(id)) : tx.tenantId
}

function noteOn({ key, grounds }: Entry): string | null {
  if (grounds !== null)
    return 'This is what was found then. Rule, usage and settings may be others now; what followed stands as it does now.'
  if (key.endsWith('/withdrawn'))
    return 'The alert was withdrawn: its rule no longer covered the subject. The message says why.'
  return 'The entry says what was done. No rule decided it then, so there are no comparisons.'
}

const KINDS: readonly TellingKind[] = ['fired', 'resolved', 'withdrawn', 'escalated']

async function ruleOf(
  tx: TenantTx,
  entry: Entry,
  rule: string,
  subject: Subject,
  timeZone: string,
): Promise<ExplainedRule> {
  const { key, grounds, leaves, cycleKey, at, simId, poolId, ruleVersion } = entry
  const [followed] = await readFollowed(tx, { simId, poolId: simId === null ? poolId : null }, [
    {
      rule,
      keys: [...new Set([key, ...KINDS.map((kind) => key.replace(/[^/]+$/, kind))])],
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
