/** An estate with a past, of any size: what it has of each SIM is the same, so that only its size differs. */
import { sql } from 'kysely'
import pg from 'pg'
import { beforeAll } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { partitionsFor } from '../../../service/usage/rows/partitions.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { estateRows, iccidOf } from '../../../tools/bench/estate-rows.ts'
import { aTenant, type Harness, NOON, type Tenant, useHarness } from '../../api/harness.ts'
import { freshDatabase } from '../../setup/database.ts'
import { explaining } from './caught.ts'

const SIMS_A_POOL = 100
/** Pools that the SIMs of one call are in, in every estate. */
const MOST_TAKEN = 10
const DAY_MS = 86_400_000
const MADE_AT = new Date(NOON - 80 * DAY_MS)
/** The cycles with usage. The first is closed, the second has ended, the third runs. */
const CYCLES = ['2026-09', '2026-10', '2026-11'] as const
const middleOf = (cycle: string) => Date.parse(`${cycle}-20T12:00:00Z`)

export interface LargeEstate {
  readonly harness: Harness
  tenant: Tenant
  readonly sims: number
  /** Id of the first SIM. Ids follow one another. */
  firstSim: number
  /** Ids in order. */
  pools: readonly number[]
  /** Makes PostgreSQL's statistics anew. */
  readonly analyze: () => Promise<void>
  /** Makes PostgreSQL believe in a thousand tenants, all with as many rows, of which it knows some, but not the tenant. */
  readonly hideAmongMany: () => Promise<void>
  /** Active SIMs of as many pools, which no other call got; at most 10. */
  readonly take: (count: number) => number[]
  readonly iccid: (simId: number) => string
}

/** A harness whose statements are explained. @returns with the url of its database, which is there once tests run */
export function useExplained(): { readonly harness: Harness; readonly url: () => string } {
  let url = ''
  const harness = useHarness({
    checkAnswers: false,
    database: async () => {
      const database = await freshDatabase()
      url = database.url
      return { ...database, url: explaining(url), rootUrl: url }
    },
  })
  return { harness, url: () => url }
}

/**
 * A database with a tenant of so many SIMs, another with a quarter of them, and tenants without any. PostgreSQL's
 * statistics know the others, but not the tenant. Nothing makes them anew but `analyze`.
 *
 * @param equals so many tenants of the same size came before, and as many after: their rows have lower and higher ids
 */
export function useLargeEstate(sims: number, equals = 0): LargeEstate {
  const { harness, url } = useExplained()
  let taken = 0
  const estate: LargeEstate = {
    harness,
    sims,
    firstSim: 0,
    pools: [],
    tenant: undefined as unknown as Tenant,
    analyze: () => onClient(url(), (run) => run('vacuum (analyze)')),
    hideAmongMany: () => onClient(url(), (run) => run(A_THOUSAND)),
    take: (count) => {
      // One of each tenth of the pools, then of their neighbours. The last digits 2 to 9 are Active SIMs in a pool.
      const pools = Math.floor(sims / SIMS_A_POOL)
      const aPool = 0.8 * SIMS_A_POOL
      const [round, nth] = [Math.floor(taken / aPool), taken % aPool]
      const place = 2 + (nth % 8) + 10 * Math.floor(nth / 8)
      taken += 1
      if (count > MOST_TAKEN || round >= Math.floor(pools / MOST_TAKEN))
        throw new Error(`the estate of ${sims} SIMs has no ${count} SIMs left`)
      return Array.from(
        { length: count },
        (_, n) => estate.firstSim + SIMS_A_POOL * (Math.floor((n * pools) / MOST_TAKEN) + round) + place,
      )
    },
    iccid: (simId) => iccidOf(firstNumber(sims) + simId - estate.firstSim),
  }
  beforeAll(async () => {
    const { store, tenant, other } = harness
    harness.now = middleOf(CYCLES[0])
    await harness.operate('POST', '/internal/rules', { files: await readRuleFiles(''), author: 'the tests' })
    await partitionsFor(store, [...CYCLES, '2026-12'].map(middleOf))
    await onClient(url(), async (run) => {
      await stopAutovacuum(run)
      await run(others(Math.ceil(sims / 50)))
    })
    await fill(harness, url(), other, { first: 0, sims: firstNumber(sims) })
    const addEquals = async (place: number) => {
      for (let n = 0; n < equals; n++)
        await fill(harness, url(), await aTenant(harness, 'Equal'), { first: (place + n) * 1_000_000, sims })
    }
    await addEquals(1)
    await estate.analyze()
    await fill(harness, url(), tenant, { first: firstNumber(sims), sims })
    await addEquals(1 + equals)
    estate.tenant = tenant
    const ids = await sql<{ first: number; pools: number[] }>`
      select (select min(id) from sims where tenant_id = ${tenant.id}) as first,
             array(select id from pools where tenant_id = ${tenant.id} order by id) as pools`.execute(harness.root)
    estate.firstSim = ids.rows[0]?.first ?? 0
    estate.pools = ids.rows[0]?.pools ?? []
  })
  return estate
}

/** Number of the tenant's first SIM: after those of the other tenant. */
const firstNumber = (sims: number) => Math.ceil(sims / 4)

type Run = (statement: string) => Promise<pg.QueryResult<Record<string, string>>>

export async function onClient(url: string, work: (run: Run) => Promise<unknown>, tenantId = ''): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`select set_config('app.tenant', $1, false)`, [tenantId])
    await work((statement) => client.query(statement))
  } finally {
    await client.end()
  }
}

/** Leaves it to the test when PostgreSQL makes its statistics. */
export async function stopAutovacuum(run: Run): Promise<void> {
  const { rows } = await run(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  for (const { name } of rows) await run(`alter table "${name}" set (autovacuum_enabled = false)`)
}

/** Statistics of the tenants of each table. */
const A_THOUSAND = `
  select pg_restore_attribute_stats(
           'schemaname', 'public', 'relname', c.relname::text, 'attname', 'tenant_id', 'inherited', c.relkind = 'p',
           'null_frac', 0::real, 'avg_width', 16, 'n_distinct', 1000::real,
           'most_common_vals', (select array_agg('many ' || n)::text from generate_series(1, 100) n),
           'most_common_freqs', (select array_agg(0.001::real) from generate_series(1, 100)))
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
   where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace`

/** Tenants that have keys and shards, and nothing else. */
const others = (count: number) => `
  with made as (
    insert into tenants (id, name, billing_email, billing_cycle, currency, created_at, updated_at)
    select 'other-' || n, 'Other', 'billing@other.example', 'P1M', 'EUR', '${MADE_AT.toISOString()}', '${MADE_AT.toISOString()}'
      from generate_series(1, ${count}) n
    returning id
  ), keys as (
    insert into api_keys (id, tenant_id, name, scopes, secret_hash, created_at)
    select 'key-' || id, id, 'key', '{read}', '\\x00', '${MADE_AT.toISOString()}' from made
  )
  insert into watch_shards (tenant_id, subject_kind, from_id, next_at)
  select id, kind, 0, '2027-01-01' from made, generate_series(1, 4) kind`

/** Makes SIMs, opens the cycles as the service does, and adds what comes about in months. */
export async function fill(
  harness: Harness,
  url: string,
  tenant: Tenant,
  of: { readonly first: number; readonly sims: number },
): Promise<void> {
  const rows = async (statements: readonly string[]) =>
    onClient(
      url,
      async (run) => {
        await run('set session_replication_role = replica')
        for (const statement of statements) await run(statement)
      },
      tenant.id,
    )
  await rows(estateRows({ ...of, simsAPool: SIMS_A_POOL, madeAt: MADE_AT }))
  for (const cycle of CYCLES) {
    harness.now = middleOf(cycle)
    await inTenant(harness.store, tenant.id, currentCycle)
  }
  harness.now = NOON
  await rows([...PAST, `select gin_clean_pending_list('sims_search')`])
}

const at = `timestamptz '2026-10-20T12:00:00Z'`
/** Of each SIM: a row or more in every table that grows. */
const PAST = [
  `update cycles set closed_at = '2026-10-01T06:00:00Z' where tenant_id = app_tenant() and key = '2026-09'`,
  ...CYCLES.flatMap((cycle) => [
    `insert into usage_records (record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds, sms_count,
                                received_at)
     select '${cycle} ' || n || ' ' || id, '${cycle}-10'::timestamptz + n * interval '1 day', id, coalesce(pool_id, 0),
            '${cycle}', 0, 1000, 0, 0, '${cycle}-10'
       from sims, generate_series(1, 2) n where tenant_id = app_tenant() order by n, id`,
    `insert into usage_buckets (subject_kind, subject_id, starts_at, bytes)
     select 1, id, '${cycle}-11', 1000 from sims where tenant_id = app_tenant() order by id`,
  ]),
  `insert into sim_sightings (sim_id, last_seen_at, imei, previous_imei)
   select id, '2026-11-12', '', '' from sims where tenant_id = app_tenant() order by id`,
  `insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
   select gen_random_uuid(), id, 2, 2 + n % 2, ${at}, '{"by": "user"}', ${at}, ${at}
     from sims, generate_series(1, 2) n where tenant_id = app_tenant() order by n, id`,
  `insert into watchdog_log (dedupe_key, rule, rule_version, sim_id, pool_id, level, message, at, cycle_key)
   select 'past ' || n || ' ' || id, 'sim-silent', 1, case when n = 1 then id end, case when n = 2 then pool_id end, 0, 'silent',
          ${at} + id * interval '1 second', '2026-10'
     from sims, generate_series(1, 2) n where tenant_id = app_tenant() order by n, id`,
  `insert into events (tenant_id, type, severity, title, description, at)
   select app_tenant(), id % 3, 0, 'event', 'of the past', ${at} + id * interval '1 second' from sims where tenant_id = app_tenant() order by id`,
  `insert into audit_log (tenant_id, at, actor, key_id, request_id, action, subject, subject_id)
   select app_tenant(), ${at}, 'key:past', 'past', 'request', 'suspendSim', 'sim', id::text from sims where tenant_id = app_tenant() order by id`,
  `insert into deliveries (mail_id, recipient, status, kind, next_attempt_at, created_at, ended_at)
   select 'mail ' || id, 'billing@meadow.example', 'sent', 'grouped', ${at}, ${at}, ${at} from sims where tenant_id = app_tenant() and id % 10 = 0`,
  `insert into notifications (dedupe_key, level, body, due_at, mail_id, created_at)
   select 'past ' || id, 0, jsonb_build_object('subject', jsonb_build_object('kind', 'sim', 'id', id)), ${at},
          'mail ' || (id - id % 10), ${at} from sims where tenant_id = app_tenant() order by id`,
  `insert into workflow_outbox (workflow_id, request, due_at, attempts, created_at, done_at)
   select 'past:' || id, '{"do": "signal"}', ${at}, 1, ${at}, ${at} from sims where tenant_id = app_tenant() order by id`,
  `insert into workflow_starts (workflow_id, started_at, input)
   select 'suspend-on-overage:' || app_tenant() || ':' || id || ':2026-10', ${at}, '{"rule": "sim-overage"}'
     from sims where tenant_id = app_tenant() order by id`,
  `insert into workflow_troubles (workflow_id, activity_id, activity, attempt, code, detail, since, failed_at, next_attempt_at)
   select 'provision-and-activate:' || app_tenant() || ':' || id, '1', 'openTicket', 9, 'unavailable', 'away',
          ${at} + id * interval '1 second', ${at}, ${at} from sims where tenant_id = app_tenant() order by id`,
  `insert into alerts (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at, explanation)
   select 'sim-past', 1, id, '2026-10', '{"phase": "resolved", "since": 0, "began": 0, "episode": 1, "part": "", "hasEnded": false, "told": [], "mailed": [], "error": null}', false, 1,
          ${at}, '[]' from sims where tenant_id = app_tenant() order by id`,
  `insert into alerts (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at, explanation)
   select case when id % 1000 = 0 then 'rare' else 'common' end, 3, id, '', '{"phase": "firing", "since": 0, "began": 0, "episode": 1, "part": "", "hasEnded": false, "told": [], "mailed": [], "error": null}', true, 1,
          ${at}, '[]' from sims where tenant_id = app_tenant() order by id`,
  `insert into suspensions (sim_id, cause, rule, cycle_key, until, opened_at, closed_at, closed_because)
   select id, 'watchdog', 'sim-overage', '2026-09', 'renewal', ${at} - interval '30 days', ${at} - interval '19 days', 'renewal'
     from sims where tenant_id = app_tenant() order by id`,
  `insert into guard_permits (rule, rule_version, cycle_key, sim_id, workflow_id, state, at, over_at)
   select 'sim-overage', 1, '2026-10', id, 'past:' || id, 'granted', ${at}, ${at} from sims where tenant_id = app_tenant() order by id`,
  `insert into month_end_changes (cycle_key, kind, sim_id, outcome)
   select '2026-09', 'move', id, 'complete' from sims where tenant_id = app_tenant() order by id`,
  `insert into statements (cycle_key, pool_id, pool_name, sim_id, iccid, kind, bytes, voice_seconds, sms_count, limit_bytes,
                           overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro)
   select '2026-09', coalesce(pool_id, 0), 'Pool', id, iccid, 'sim', 0, 0, 0, 0, 0, 0, 0, 0, 0
     from sims where tenant_id = app_tenant() order by id`,
  `insert into idempotency_keys (key, fingerprint, status, body, created_at)
   select 'past ' || id, '', 200, '{}', '2026-11-20' from sims where tenant_id = app_tenant() order by id`,
  `insert into usage_deliveries (began_at, ended_at, actor, request_id, outcome)
   select ${at}, ${at}, 'key:past', 'request', 'complete' from sims where tenant_id = app_tenant() order by id`,
  `insert into due_subjects (subject_kind, subject_id, due_at, seq)
   select 1, id, '2027-01-01', nextval('due_seq') from sims where tenant_id = app_tenant() order by id`,
  `insert into orders (type, quantity, unit_price, total, status, created_at, updated_at)
   select 1, 1, 1, 1, 'Delivered', ${at}, ${at} from sims where tenant_id = app_tenant() order by id`,
  `with run as (
     insert into bulk_runs (id, type, state, created_at, done_at, total)
     values (gen_random_uuid(), 'refresh', 'opened', ${at}, ${at}, 1) returning id
   )
   insert into bulk_items (bulk_id, index, sim_id, outcome)
   select run.id, row_number() over (order by s.id), s.id, 'opened' from sims s, run where s.tenant_id = app_tenant()`,
]
