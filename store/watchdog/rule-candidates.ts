/** Which version is tried beside the one in force. Rows are never changed: see `0100_rule_candidates.sql`. */
import { sql } from 'kysely'
import type { PlatformTx, TenantTx } from '../tenancy.ts'

/** Who changes the rules, and why. */
export interface By {
  readonly author: string
  readonly reason: string | null
}

export interface Candidacy extends By {
  readonly id: number
  readonly version: number
  readonly since: Date
}

/** SQL of the id of the candidacy that runs; null if none does. Whatever is put in force ends it. */
export const candidacyNow = sql`(
  select id from (select * from rule_candidates order by id desc limit 1) c
   where not ended and activation is not distinct from (select max(id) from rule_activations))`

/** The candidacy that runs; undefined if none does. */
export async function currentCandidacy(tx: TenantTx | PlatformTx): Promise<Candidacy | undefined> {
  const { rows } = await sql<Candidacy>`
    select id, version, at as since, author, reason from rule_candidates where id = ${candidacyNow}`.execute(tx.q)
  return rows[0]
}

/** Begins the candidacy of a version, or ends it. Call with the rules locked. */
export async function insertCandidacy(
  tx: PlatformTx,
  { version, ended, author, reason }: By & { readonly version: number; readonly ended: boolean },
): Promise<void> {
  await sql`
    insert into rule_candidates (version, activation, ended, at, author, actor, reason, request_id)
    values (${version}, (select max(id) from rule_activations), ${ended}, ${tx.now}, ${author},
            ${tx.caller?.actor ?? null}, ${reason}, ${tx.caller?.requestId ?? null})`.execute(tx.q)
}
