/**
 * A thread with a Fastify server that gives rows by their ids, without keys, figures and row-level security. Started by
 * reads.ts.
 */
import { parentPort, workerData } from 'node:worker_threads'
import fastify from 'fastify'
import pg from 'pg'

/** By the name in the path. */
export const SELECTS = {
  sims: `select id, tag, iccid, pool_id, tariff_id, imsi, msisdn, imei, status, updated_at, provisioned_at, status_since,
                type, pending_pool_id, pending_tariff_id, pending_unassign, watchdog_mode, is_watchdog_exempt,
                warning_threshold_pct, enable_burn_rate_alerts
           from sims where id = any($1::bigint[]) order by id`,
  pools: `select id, name, type, tariff_id, watchdog_mode, warning_threshold_pct, enable_burn_rate_alerts, created_at,
                 updated_at, active_sim_count, total_sim_count
            from pools where id = any($1::integer[]) order by id`,
  tickets: `select id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at
              from tickets where id = any($1::uuid[]) order by array_position($1::uuid[], id)`,
  log: `select id, rule, rule_version, sim_id, pool_id, level, message, at, cycle_key
          from watchdog_log where id = any($1::bigint[]) order by array_position($1::bigint[], id)`,
} as const

if (parentPort !== null) {
  const app = fastify()
  const rows = new pg.Pool({ connectionString: String(workerData), max: 8 })
  app.get<{ Params: { of: keyof typeof SELECTS }; Querystring: { ids: string } }>('/:of', async ({ params, query }) => {
    const found = await rows.query(SELECTS[params.of], [query.ids.split(',')])
    return { data: found.rows }
  })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort.postMessage(await app.listen({ host: '127.0.0.1', port: 0 }))
}
