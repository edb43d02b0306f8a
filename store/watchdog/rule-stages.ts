/** Stages of rules that were set without a new file. Rows are never changed: the newest of a rule counts. */
import { sql } from 'kysely'
import type { PlatformTx, TenantTx } from '../tenancy.ts'
import type { By } from './rule-sets.ts'

export interface SetStage {
  readonly rule: string
  readonly stage: string
  /** What the rule's file said then. The stage counts as long as it says that. */
  readonly fileStage: string
}

/** The newest stage of each rule that has one. */
export async function setStages(tx: TenantTx | PlatformTx): Promise<SetStage[]> {
  const { rows } = await sql<SetStage>`
    select distinct on (rule) rule, stage, file_stage as "fileStage" from rule_stages order by rule, id desc`.execute(
    tx.q,
  )
  return rows
}

/** Sets a stage. Call with the rules locked. @param version in force */
export async function insertStage(
  tx: PlatformTx,
  { rule, stage, fileStage, version, author, reason }: SetStage & By & { readonly version: number },
): Promise<void> {
  await sql`
    insert into rule_stages (rule, stage, file_stage, version, at, author, actor, reason, request_id)
    values (${rule}, ${stage}, ${fileStage}, ${version}, ${tx.now}, ${author}, ${tx.caller?.actor ?? null}, ${reason},
            ${tx.caller?.requestId ?? null})`.execute(tx.q)
}
