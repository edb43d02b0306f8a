/** Statements of closed cycles: what each SIM and pool used and what it costs. Written once, never changed. */
import { sql } from 'kysely'
import type { TenantTx } from './tenancy.ts'

/**
 * One line of a statement. Money in micro-units of the currency; each amount is rounded half up once, and
 * totals are sums of lines. A `pool` line carries the pool's own figures and the cost of its bucket; an
 * `empty` line stands for a cycle in which nothing was.
 */
export interface StatementLine {
  readonly kind: 'sim' | 'pool' | 'empty'
  /** 0: outside pools. */
  readonly poolId: number
  readonly poolName: string
  readonly simId: number | null
  readonly iccid: string | null
  readonly tariffId: number | null
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

/**
 * Writes the statement of a cycle from its ledger, set-wise. Fees are those of the governing tariff; a SIM pays
 * the monthly fee for every ledger row in which it was Active. Products are exact; `div(2a + b, 2b)` rounds half up.
 *
 * @returns the number of lines
 */
export async function writeStatement(tx: TenantTx, cycleKey: string): Promise<number> {
  const { rows } = await sql<{ lines: number }>`
    with sim_lines as (
      insert into statements (cycle_key, kind, pool_id, pool_name, sim_id, iccid, tariff_id, bytes, voice_seconds,
                              sms_count, limit_bytes, overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro)
      select f.cycle_key, 'sim', f.pool_id, coalesce(p.name, ''), f.sim_id, s.iccid, t.id, f.bytes, f.voice_seconds,
             f.sms_count, f.limit_bytes, f.overage_bytes,
             case when f.contributing then coalesce(t.sim_monthly_fee, 0) else 0 end,
             f.sms_count * coalesce(t.sms_fee, 0),
             div(2 * f.voice_seconds::numeric * coalesce(t.voice_fee, 0) + 60, 120)::bigint,
             div(2 * f.overage_bytes::numeric * coalesce(t.overage_fee_per_gb, 0) + 1000000000, 2000000000)::bigint
        from ledger_figures f
        join sims s on s.id = f.sim_id
        left join pools p on p.id = f.pool_id
        left join tariffs t on t.id = f.governing_tariff_id
       where f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycleKey}
       order by f.pool_id, f.sim_id
      returning 1
    ), pool_lines as (
      insert into statements (cycle_key, kind, pool_id, pool_name, tariff_id, bytes, voice_seconds, sms_count,
                              limit_bytes, overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro)
      select pc.cycle_key, 'pool', pc.pool_id, p.name, p.tariff_id, pc.bytes, pc.voice_seconds, pc.sms_count,
             pc.limit_bytes, pc.overage_bytes, t.fixed_bucket_cost, 0, 0, 0
        from pool_cycles pc
        join pools p on p.id = pc.pool_id
        join tariffs t on t.id = p.tariff_id
       where pc.tenant_id = ${tx.tenantId} and pc.cycle_key = ${cycleKey}
         and (pc.bytes > 0 or pc.voice_seconds > 0 or pc.sms_count > 0 or pc.contributing > 0 or t.fixed_bucket_cost > 0)
       order by pc.pool_id
      returning 1
    )
    select ((select count(*) from sim_lines) + (select count(*) from pool_lines))::integer as lines`.execute(tx.q)
  const lines = rows[0]?.lines ?? 0
  if (lines > 0) return lines
  await sql`
    insert into statements (cycle_key, kind, pool_id, pool_name, bytes, voice_seconds, sms_count, limit_bytes,
                            overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro)
    values (${cycleKey}, 'empty', 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0)`.execute(tx.q)
  return 0
}

/** Lines of a cycle's statement by pool and SIM, pool lines first. */
export async function statementLines(tx: TenantTx, cycleKey: string): Promise<StatementLine[]> {
  const { rows } = await sql<StatementLine>`
    select kind, pool_id as "poolId", pool_name as "poolName", sim_id as "simId", iccid, tariff_id as "tariffId", bytes,
           voice_seconds as "voiceSeconds", sms_count as "smsCount", limit_bytes as "limitBytes",
           overage_bytes as "overageBytes", fee_micro as "feeMicro", sms_micro as "smsMicro",
           voice_micro as "voiceMicro", overage_micro as "overageMicro"
      from statements
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey}
     order by pool_id, sim_id nulls first`.execute(tx.q)
  return rows
}

/** What a pool came to in a closed cycle: its own line and those of its SIMs. */
export interface PoolTotals {
  /** 0: outside pools. */
  readonly poolId: number
  readonly poolName: string
  readonly bytes: number
  readonly limitBytes: number
  readonly overageBytes: number
  readonly chargeMicro: number
}

/** Totals of a cycle's statement by pool; none where nothing was in the cycle. */
export async function poolTotals(tx: TenantTx, cycleKey: string): Promise<PoolTotals[]> {
  const { rows } = await sql<PoolTotals>`
    select pool_id as "poolId", max(pool_name) as "poolName",
           coalesce(sum(bytes) filter (where kind = 'sim'), 0)::bigint as bytes,
           coalesce(max(limit_bytes) filter (where kind = 'pool'), sum(limit_bytes))::bigint as "limitBytes",
           coalesce(sum(overage_bytes) filter (where kind = 'sim'), 0)::bigint as "overageBytes",
           sum(fee_micro + sms_micro + voice_micro + overage_micro)::bigint as "chargeMicro"
      from statements
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and kind <> 'empty'
     group by pool_id
     order by pool_id`.execute(tx.q)
  return rows
}
