/** Statements of closed cycles: usage and charges of each SIM and pool. Written once, never changed. */
import { type RawBuilder, sql } from 'kysely'
import { KEYSET_PAGE, keysetPages, pageLimit, placeAfter } from '../../../store/keyset-pages.ts'
import { mine, type Store, type TenantTx } from '../../../store/tenancy.ts'
import type { StatementSum } from './statement-lines.ts'

/**
 * A line of a statement. Money in micro-units of the currency. An amount is rounded half up once, and totals are sums
 * of lines.
 *
 * A `pool` line has the pool's own figures and the cost of its bucket. An `empty` line stands for a cycle without
 * activity. An `adjustment` concerns an earlier cycle: it gives the differences from all statements before, for a SIM
 * or (`simId` null) for a pool's own line.
 */
export interface StatementLine {
  readonly kind: 'sim' | 'pool' | 'empty' | 'adjustment'
  /** Key of the closed cycle that an adjustment concerns; null for other lines. */
  readonly adjusts: string | null
  /** 0: outside pools. */
  readonly poolId: number
  readonly poolName: string
  readonly simId: number | null
  readonly iccid: string | null
  /** Of the SIM, when the line was written. */
  readonly tag: string | null
  readonly tariffId: number | null
  readonly tariffName: string | null
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
  readonly limitBytes: number
  readonly overageBytes: number
  readonly feeMicro: number
  readonly smsMicro: number
  readonly voiceMicro: number
  readonly overageMicro: number
}

/** Selects lines of a statement. An omitted filter matches all. */
export interface LineFilter {
  /** 0: outside pools. */
  readonly poolId?: number | undefined
  readonly simId?: number | undefined
  readonly kinds?: readonly StatementLine['kind'][]
}

interface NumberedLine extends StatementLine {
  readonly id: number
}

const condition = (column: RawBuilder<unknown>, value: number | undefined) =>
  value === undefined ? sql`` : sql`and ${column} = ${value}::bigint`

interface LineQuery extends LineFilter {
  /** `nextAfterLine` of the previous page; 0: from the beginning. */
  readonly afterLine: number
  /** Most lines to return. */
  readonly limit: number
}

async function linesAfter(tx: TenantTx, cycleKey: string, query: LineQuery): Promise<NumberedLine[]> {
  const { rows } = await sql<NumberedLine>`
    select id, kind, adjusts, pool_id as "poolId", pool_name as "poolName", sim_id as "simId", iccid, tag,
           tariff_id as "tariffId", (select display_name from tariffs where id = tariff_id) as "tariffName",
           bytes, voice_seconds as "voiceSeconds", sms_count as "smsCount",
           limit_bytes as "limitBytes", overage_bytes as "overageBytes", fee_micro as "feeMicro",
           sms_micro as "smsMicro", voice_micro as "voiceMicro", overage_micro as "overageMicro"
      from statements
     where (tenant_id, cycle_key, id) > (${mine}, ${cycleKey}, ${query.afterLine}::bigint)
       and (tenant_id, cycle_key) <= (${mine}, ${cycleKey})
       and exists (select from cycles where tenant_id = ${mine} and key = ${cycleKey} and closed_at is not null)
           ${condition(sql`pool_id`, query.poolId)} ${condition(sql`sim_id`, query.simId)}
           ${query.kinds === undefined ? sql`` : sql`and kind = any(${[...query.kinds]}::text[])`}
     order by tenant_id, cycle_key, id limit ${pageLimit(query.limit)}`.execute(tx.q)
  return rows
}

const withoutPlace = ({ id: _, ...line }: NumberedLine): StatementLine => line

/**
 * Reads a page of a statement: pools by id, each before its SIMs, then the adjustments. Has no lines until the cycle is
 * closed, even if some are written.
 */
export async function pageOfLines(tx: TenantTx, cycleKey: string, query: LineQuery) {
  const rows = await linesAfter(tx, cycleKey, query)
  return {
    lines: rows.map(withoutPlace),
    nextAfterLine: rows.length < query.limit ? null : (rows.at(-1)?.id ?? null),
  }
}

/** Reads all lines of a statement, page by page. */
export const allLines = (
  store: Store,
  tenantId: string,
  cycleKey: string,
  filter: LineFilter,
): AsyncGenerator<StatementLine[]> =>
  keysetPages(store, tenantId, async (tx, after: number | null) => {
    const rows = await linesAfter(tx, cycleKey, { ...filter, afterLine: after ?? 0, limit: KEYSET_PAGE })
    return { items: rows.map(withoutPlace), next: placeAfter(rows, ({ id }) => id) }
  })

/** Number of a statement's lines and the sum of their charges; undefined if the cycle is not closed. */
export async function statementTotals(tx: TenantTx, cycleKey: string): Promise<StatementSum | undefined> {
  const { rows } = await sql<StatementSum>`
    select lines, total_micro as "totalMicro" from statement_totals
     where tenant_id = ${mine} and cycle_key = ${cycleKey}`.execute(tx.q)
  return rows[0]
}

/** Totals of a pool in a closed cycle: its own line and those of its SIMs. */
export interface PoolTotals {
  /** 0: outside pools. */
  readonly poolId: number
  readonly poolName: string
  readonly bytes: number
  readonly limitBytes: number
  readonly overageBytes: number
  readonly chargeMicro: number
}

/** Totals of a cycle's statement by pool, without adjustments. Empty if nothing happened in the cycle. */
export async function poolTotals(tx: TenantTx, cycleKey: string): Promise<PoolTotals[]> {
  const { rows } = await sql<PoolTotals>`
    select pool_id as "poolId", pool_name as "poolName", bytes, limit_bytes as "limitBytes",
           overage_bytes as "overageBytes", charge_micro as "chargeMicro"
      from statement_parts
     where tenant_id = ${mine} and cycle_key = ${cycleKey} and adjusts = '' and lines > 0
     order by pool_id`.execute(tx.q)
  return rows
}

/** Totals of a statement's adjustments of one earlier cycle. */
export interface AdjustmentTotals {
  readonly cycle: string
  readonly lines: number
  readonly bytes: number
  readonly totalMicro: number
}

/** Totals of the adjustments in a cycle's statement, by the cycle that they concern, oldest first. */
export async function adjustmentTotals(tx: TenantTx, cycleKey: string): Promise<AdjustmentTotals[]> {
  const { rows } = await sql<AdjustmentTotals>`
    select adjusts as cycle, sum(lines)::integer as lines, sum(bytes)::bigint as bytes,
           sum(charge_micro)::bigint as "totalMicro"
      from statement_parts
     where tenant_id = ${mine} and cycle_key = ${cycleKey} and adjusts <> '' and lines > 0
     group by adjusts
     order by adjusts`.execute(tx.q)
  return rows
}
