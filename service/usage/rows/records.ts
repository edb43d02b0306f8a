/** Usage records with their places, and sums of the ledger. */

import { sql } from 'kysely'
import type { ReadRecord } from '../../../domain/usage/usage-record.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** A record with its SIM, pool and billing cycle. */
export interface PlacedRecord extends ReadRecord {
  readonly simId: number
  /** Pool that the SIM was in at the record's instant; 0: none. */
  readonly poolId: number
  readonly cycleKey: string
}

export interface LedgerKey {
  readonly cycleKey: string
  readonly simId: number
  readonly poolId: number
}
export interface Amounts {
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}

/** Current ledger sums of these keys. Rows that do not exist are left out. */
export async function ledgerSums(tx: TenantTx, keys: readonly LedgerKey[]): Promise<(LedgerKey & Amounts)[]> {
  const { rows } = await sql<LedgerKey & Amounts>`
    select l.cycle_key as "cycleKey", l.sim_id as "simId", l.pool_id as "poolId", l.bytes,
           l.voice_seconds as "voiceSeconds", l.sms_count as "smsCount"
      from jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as k("cycleKey" text, "simId" bigint, "poolId" integer)
     cross join lateral (
       select * from usage_ledger
        where tenant_id = ${mine} and cycle_key = k."cycleKey" and sim_id = k."simId" and pool_id = k."poolId" limit 1
     ) l`.execute(tx.q)
  return rows
}

const CHECK_VIOLATION = '23514'
const UNIQUE_VIOLATION = '23505'
const TOTALS: Readonly<Record<string, string>> = {
  usage_ledger_total: 'SIM',
  pool_cycles_total: 'pool',
  cycles_total: 'tenant',
  usage_buckets_total: 'time bucket',
}

/**
 * Names the total that a failed statement would have taken out of the range of exact sums: SIM, pool, tenant or time
 * bucket. Undefined if the statement failed for another reason.
 */
export function totalOutOfRange(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === CHECK_VIOLATION && 'constraint' in error)) {
    return undefined
  }
  return typeof error.constraint === 'string' ? TOTALS[error.constraint] : undefined
}

/** Whether a statement has failed because it would have stored a usage record twice. */
export const isStored = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === UNIQUE_VIOLATION &&
  'table' in error &&
  String(error.table).startsWith('usage_records')
