/** Versions of the rule set, and the one in force: that of the newest activation. A version never changes. */

import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { HistoryQuery, RuleChange } from '../../../domain/rules/rule-change.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { kept } from '../../../store/kept.ts'
import { keyName } from '../../../store/key-name.ts'
import { readPage } from '../../../store/paging.ts'
import type { PlatformTx, TenantTx } from '../../../store/tenancy.ts'

export interface By {
  /** The author's name as given, or that of the key. */
  readonly author: string
  readonly reason?: string | undefined
}

export interface GivenBy extends Omit<By, 'author'> {
  /** Default: the name of the caller's key. */
  readonly author?: string | undefined
}

/** A change's author and reason. */
export async function authored(tx: PlatformTx, { author, reason }: GivenBy): Promise<By> {
  if (author !== undefined) return { author, reason }
  const actor = tx.caller?.actor ?? 'the service'
  const { rows } = await sql<{ name: string | null }>`select ${keyName(sql`${actor}::text`)} as name`.execute(tx.q)
  return { author: rows[0]?.name ?? actor, reason }
}

export interface RuleSet {
  readonly version: number
  readonly files: readonly RuleSource[]
  readonly author: string
  readonly reason: string | null
  readonly createdAt: Date
  /** When it was put in force last; null: never. */
  readonly activatedAt: Date | null
}

/** SQL of the version in force; null before the first activation. */
export const versionInForce = sql`(select version from rule_activations order by id desc limit 1)`

/** Version of the set in force. A cheap way to find out whether a loaded set is still in force. */
export async function activeRuleVersion(tx: TenantTx | PlatformTx): Promise<number | undefined> {
  const { rows } = await sql<{ version: number | null }>`${kept} select ${versionInForce} as version`.execute(tx.q)
  return rows[0]?.version ?? undefined
}

export async function activeRuleSet(tx: TenantTx | PlatformTx): Promise<RuleSet | undefined> {
  const version = await activeRuleVersion(tx)
  return version === undefined ? undefined : ruleSetOf(tx, version)
}

export const sourceOfRule = (set: RuleSet | undefined, rule: string | null): RuleSource | undefined =>
  set?.files.find(({ file }) => file.endsWith(`/${rule}.json`))

/** Versions in force before the current one, the latest first. */
export async function earlierRuleVersions(tx: TenantTx | PlatformTx): Promise<number[]> {
  const { rows } = await sql<{ version: number }>`
    select version from rule_activations where version <> ${versionInForce}
     group by version order by max(id) desc`.execute(tx.q)
  return rows.map(({ version }) => version)
}

export async function ruleSetOf(tx: TenantTx | PlatformTx, version: number): Promise<RuleSet | undefined> {
  const { rows } = await sql<RuleSet>`
    select version, rules as files, author, reason, created_at as "createdAt",
           (select at from rule_activations a where a.version = s.version order by id desc limit 1) as "activatedAt"
      from rule_sets s where version = ${version}`.execute(tx.q)
  return rows[0]
}

/** Locks the version in force until the end of the transaction: changes of the rules wait for each other. */
export async function lockRules(tx: PlatformTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.rules'))`.execute(tx.q)
}

/** Stores a set. The same content keeps the same version. Call with the rules locked. @returns also if it is new */
export async function storeRuleSet(
  tx: PlatformTx,
  files: readonly RuleSource[],
  { author, reason }: By,
): Promise<{ version: number; isNew: boolean }> {
  const inOrder = files.toSorted((a, b) => (a.file < b.file ? -1 : 1)).map(({ file, text }) => [file, text])
  const hash = createHash('sha256').update(JSON.stringify(inOrder)).digest('hex')
  const known = await sql<{ version: number }>`select version from rule_sets where hash = ${hash}`.execute(tx.q)
  const [found] = known.rows
  if (found !== undefined) return { version: found.version, isNew: false }
  const { rows } = await sql<{ version: number }>`
    insert into rule_sets (hash, rules, author, actor, reason, request_id, created_at)
    values (${hash}, ${JSON.stringify(files)}::jsonb, ${author}, ${tx.caller?.actor ?? null}, ${reason ?? null},
            ${tx.caller?.requestId ?? null}, ${tx.now})
    returning version`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('the rule set was written and is not there')
  return { version: row.version, isNew: true }
}

/** Puts a stored version in force. Call with the rules locked. */
export async function insertActivation(tx: PlatformTx, version: number, { author, reason }: By): Promise<void> {
  await sql`
    insert into rule_activations (version, at, author, actor, reason, request_id)
    values (${version}, ${tx.now}, ${author}, ${tx.caller?.actor ?? null}, ${reason ?? null},
            ${tx.caller?.requestId ?? null})`.execute(tx.q)
}

/** Reads a page of the history, of all versions or of one, newest first: pushed versions, and their activations. */
export async function pageOfRuleHistory(tx: PlatformTx, query: HistoryQuery): Promise<Page<RuleChange>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<Omit<RuleChange, 'at'> & { readonly at: Date }>(
    tx,
    {
      columns: sql`change, version, at, author, actor, ${keyName(sql`actor`)} as "actorName", reason, request_id as "requestId", step, id`,
      from: sql`from (
        select 'pushed' as change, version, created_at as at, author, actor, reason, request_id, 1 as step, version as id
          from rule_sets
         union all
        select 'activated', version, at, author, actor, reason, request_id, 2, id from rule_activations) h
        ${query.version === undefined ? sql`` : sql`where version = ${query.version}`}`,
      orderBy: sql`at desc, step desc, id desc`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map(({ change, version, at, author, actor, actorName, reason, requestId }) => {
      const by = { author, actor, actorName, reason, requestId }
      return { change, version, at: at.toISOString(), ...by }
    }),
  )
}
