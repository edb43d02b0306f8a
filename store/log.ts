/** Writes the watchdog log. */
import { sql } from 'kysely'
import type { LogLevel } from '../domain/codes.ts'
import { mine, type TenantTx } from './tenancy.ts'

export interface NewLogEntry {
  /** Alert key and kind. A tenant gets at most one entry a key. */
  readonly dedupeKey: string
  readonly rule: string | null
  readonly ruleVersion: number | null
  readonly simId: number | null
  readonly poolId: number | null
  readonly level: LogLevel
  readonly message: string
  readonly cycleKey: string | null
  readonly explanation: unknown
  /** The grounds of a rule's decision. Omitted: no rule decided. */
  readonly grounds?: unknown
}

/** Writes log entries in one statement. A known key keeps its first instant and words. @returns only the new keys */
export async function insertLogEntries(tx: TenantTx, entries: readonly NewLogEntry[]): Promise<Set<string>> {
  if (entries.length === 0) return new Set()
  const { rows } = await sql<Pick<NewLogEntry, 'dedupeKey'>>`
    insert into watchdog_log (dedupe_key, rule, rule_version, sim_id, pool_id, level, message, at, cycle_key,
                              explanation, grounds)
    select "dedupeKey", rule, "ruleVersion", "simId", "poolId", level, message, ${tx.now}, "cycleKey", explanation, nullif(grounds, 'null'::jsonb)
      from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as e(
        "dedupeKey" text, rule text, "ruleVersion" integer, "simId" bigint, "poolId" integer, level smallint,
        message text, "cycleKey" text, explanation jsonb, grounds jsonb)
     order by "dedupeKey"
    on conflict (tenant_id, dedupe_key) do nothing
    returning dedupe_key as "dedupeKey"`.execute(tx.q)
  return new Set(rows.map(({ dedupeKey }) => dedupeKey))
}

/** The given keys with an entry in the log. */
export async function knownEntries(tx: TenantTx, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    select dedupe_key as key from watchdog_log
     where tenant_id = ${mine} and dedupe_key = any(${[...keys]}::text[])`.execute(tx.q)
  return new Set(rows.map(({ key }) => key))
}
