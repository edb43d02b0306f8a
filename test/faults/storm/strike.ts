/** Kills one of the processes of a storm, and lets the leases pass of what it was doing. */
import { until } from '../../setup/soon.ts'
import { AWAY_MS, killSupervised, TEMPORAL_AWAY_MS } from '../harness.ts'
import type { Storm } from './storm.ts'
import type { StormTenant } from './tenants.ts'
import { passEvaluationLeases, passMailLeases } from './time.ts'

type Meanwhile = () => Promise<void>

/** How each is killed. @returns when it is back */
const KILLS = {
  worker: ({ service }: Storm) => killSupervised(service.worker),
  API: ({ service }: Storm) => killSupervised(service.api),
  PostgreSQL: ({ servers }: Storm, meanwhile?: Meanwhile) => servers.postgres.outage(AWAY_MS, meanwhile),
  Temporal: ({ servers }: Storm, meanwhile?: Meanwhile) => servers.temporal.outage(TEMPORAL_AWAY_MS, meanwhile),
  Redis: ({ servers }: Storm, meanwhile?: Meanwhile) => servers.redis.outage(AWAY_MS, meanwhile),
  carrier: ({ servers }: Storm) => servers.carrier.outage(),
  'mail server': ({ post }: Storm, meanwhile?: Meanwhile) => post.outage(AWAY_MS, meanwhile),
}
export type Killed = keyof typeof KILLS

/** What was killed, and what was under way then. Instants are epoch milliseconds. */
export interface Strike {
  readonly killed: Killed
  readonly at: number
  readonly backAt: number
  /** Of the wave's alerts, how many had been logged, and how many there are. */
  readonly logged: number
  readonly alerts: number
  /** Mails that the server had kept since the strike before, and those that were waiting or being sent. */
  readonly kept: number
  readonly pending: number
}

/**
 * Kills something.
 *
 * A mail that the worker could not commit because PostgreSQL was killed is free when the worker is killed after it.
 *
 * @param meanwhile done while it is away, where that is a server
 */
export async function strike<T extends Omit<Strike, 'killed' | 'at' | 'backAt'>>(
  storm: Storm,
  killed: Killed,
  seen: T,
  meanwhile?: Meanwhile,
): Promise<T & Strike> {
  const { rows } = storm.sources
  const at = Date.now()
  await KILLS[killed](storm, meanwhile)
  const backAt = Date.now()
  if (killed === 'worker') await passMailLeases(rows, new Date(at))
  await until('the passing of leases', async () => (await passEvaluationLeases(rows, new Date(at)), true))
  return { ...seen, killed, at, backAt }
}

/** Counts of what a storm has done so far for its tenants. */
export function countsOf({ sources: { rows }, post }: Storm, tenants: readonly StormTenant[]) {
  const ids = tenants.map(({ id }) => id)
  const count = async (statement: string, of: readonly string[] = ids): Promise<number> => {
    const [row] = await rows<{ n: number }>(`select count(*)::integer as n ${statement} and tenant_id = any($1)`, [of])
    return row?.n ?? 0
  }
  return {
    logged: () => count("from watchdog_log where dedupe_key like '%/fired'"),
    unmailed: () => count('from notifications where mail_id is null'),
    /** Mails that wait or are being sent, of all tenants or of some. */
    pending: (of?: readonly string[]) => count("from deliveries where mail_id is not null and status = 'pending'", of),
    kept: post.kept,
  }
}
