/** Rows of an estate of any size, by a few statements: for benches, and for tests of a large estate's cost. */

const FIRST_ICCID = 8_944_500_000_000_000_000n
/** Bytes a SIM: more than a bench sends, to keep pools within their limits. */
export const ALLOWANCE = 10 ** 12

/** The ICCID of the SIM with this number. */
export const iccidOf = (n: number): string => String(FIRST_ICCID + BigInt(n))

export interface EstateRows {
  /** Number of the first SIM. Its ICCID follows from it. */
  readonly first: number
  readonly sims: number
  readonly simsAPool: number
  /** When all was made, 40 days ago by default. */
  readonly madeAt?: Date
}

/** The rows are the tenant's: the tables take it from the setting, and the owner reads past row-level security. */
const mine = 'tenant_id = app_tenant()'

/**
 * Statements that fill a tenant with tariffs, pools and SIMs. Of ten SIMs eight are Active, one is Suspended and one
 * Unprovisioned, outside the pools. A third of the pools has each type of tariff.
 *
 * They run as the owner, with `app.tenant` set and `session_replication_role = replica`: the counts of pools and blocks
 * are written at the end, not by triggers row by row.
 */
export function estateRows({ first, sims, simsAPool, madeAt }: EstateRows): string[] {
  const at = madeAt === undefined ? `now() - interval '40 days'` : `'${madeAt.toISOString()}'::timestamptz`
  return [
    `insert into tariffs (tenant_id, display_name, description, type, allowance_bytes, sim_monthly_fee, fixed_bucket_cost,
                          sms_fee, voice_fee, overage_fee_per_gb, created_at)
     select app_tenant(), 'tariff ' || type, '', type, ${ALLOWANCE}, 0, 0, 0, 0, 0, ${at} from generate_series(0, 2) as t(type)`,
    `insert into pools (name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
     select 'Pool ' || n, case when t.type = 1 then 1 else 0 end, t.id, 1, ${at}, ${at}, ${at}
       from generate_series(0, ${Math.ceil(sims / simsAPool) - 1}) as p(n)
       join tariffs t on t.${mine} and t.type = p.n % 3 order by n`,
    `insert into sims (iccid, imsi, msisdn, tag, type, status, status_since, pool_id, provisioned_at, created_at, updated_at)
     select (${FIRST_ICCID} + n)::text, '26201' || lpad((n::bigint * 7919 % 10000000000)::text, 10, '0'),
            '4917' || lpad((n::bigint * 104729 % 1000000000)::text, 9, '0'), 'meter-' || n || ' hall ' || n % 40, 0,
            case n % 10 when 0 then 0 when 1 then 2 else 1 end, ${at},
            case when n % 10 > 0 then p.id end, case when n % 10 > 0 then ${at} end, ${at}, ${at}
       from generate_series(${first}, ${first + sims - 1}) as s(n)
       join (select id, row_number() over (order by id) - 1 as rank from pools where ${mine}) p
         on p.rank = (s.n - ${first}) / ${simsAPool}
      order by s.n`,
    `insert into memberships (sim_id, pool_id, from_at)
     select id, pool_id, ${at} from sims where ${mine} and pool_id is not null order by id`,
    `insert into active_spans (sim_id, from_at)
     select id, ${at} from sims where ${mine} and status = 1 order by id`,
    `insert into suspensions (sim_id, cause, opened_at)
     select id, 'user', ${at} from sims where ${mine} and status = 2 order by id`,
    `update pools p set active_sim_count = c.active, total_sim_count = c.total
       from (select pool_id, count(*) filter (where status = 1) as active, count(*) as total
               from sims where ${mine} group by 1) c
      where p.id = c.pool_id`,
    `insert into sim_blocks (block, status, sims) select id >> 12, status, count(*) from sims where ${mine} group by 1, 2`,
  ]
}
