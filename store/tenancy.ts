/**
 * The only ways to the database: as one tenant, or as the platform.
 *
 * Each opens a transaction and takes on a role without login, so that row-level security binds every
 * statement in it; the setting `app.tenant` says whose rows there are.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Job } from '../domain/jobs.ts'

/** A pool of connections. */
export type Db = Kysely<unknown>

/** On whose behalf something is changed. */
export interface Caller {
  /** `key:<id>`, `cli:<user>@<host>` or `service:<process>`. */
  readonly actor: string
  /** The API key it came with; null where it came with none. */
  readonly keyId: string | null
  /** Of a command or a process: made up for what it does at once. */
  readonly requestId: string
  /** Operation of the interface, its operationId; of a command its name. */
  readonly action: string
  /** The workflow that asks, with the workers' key; null where none does. */
  readonly workflowId: string | null
  /** The Idempotency-Key of its request: where a workflow asks, one of its steps. */
  readonly idempotencyKey?: string
}

/** What operations run with. */
export interface Store {
  readonly db: Db
  /** The clock, epoch milliseconds. No SQL decides by the server's own. */
  readonly clock: () => number
  /** Wakes workers after a commit; must not throw. */
  readonly enqueue: (jobs: readonly Job[]) => void
  /** On whose behalf; left out: the service's own. */
  readonly caller?: Caller
  /** How often a transaction that was broken off for a deadlock is done again. Default: 3; tests allow none. */
  readonly deadlockRetries?: number
  /** Its statements go through an estate, and may take {@link SLOW}. Default: as long as any connection's. */
  readonly slow?: boolean
}

/** Minutes, for a month end, an import, or what looks at a whole estate: all else is broken off sooner. */
const SLOW = '5min'

/** The same store, for work whose statements may take minutes. */
export const slowly = (store: Store): Store => ({ ...store, slow: true })

/** Part of the select that begins a transaction. */
const patience = ({ slow = false }: Store) => (slow ? sql`, set_config('statement_timeout', ${SLOW}, true)` : sql``)

const DEADLOCK_RETRIES = 3

/** An open transaction within one tenant's rows. */
export interface TenantTx {
  readonly q: Transaction<unknown>
  readonly tenantId: string
  /** The transaction's instant: one for all that it writes. */
  readonly now: Date
  /** Null where the service works by itself. */
  readonly caller: Caller | null
  /** Wakes a worker once this transaction has committed. */
  readonly enqueue: (job: JobWithoutTenant) => void
  /**
   * Does something when all else in this transaction is done: for a row that is locked after all others, wherever in
   * the transaction it is found that it has to be written.
   */
  readonly atEnd: (work: () => Promise<void>) => void
}

type JobWithoutTenant = Job extends infer B ? (B extends Job ? Omit<B, 'tenantId'> : never) : never

/** PostgreSQL broke a circle of waits by ending one of the transactions in it: that one is done again. */
const isDeadlock = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '40P01'

/**
 * Runs work in one transaction that sees and writes only this tenant's rows. Jobs are enqueued after the commit.
 *
 * The work may run again from its beginning, where the database broke it off for a deadlock.
 */
export async function inTenant<T>(store: Store, tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  const retries = store.deadlockRetries ?? DEADLOCK_RETRIES
  for (let attempt = 0; ; attempt++) {
    try {
      return await attemptInTenant(store, tenantId, work)
    } catch (error) {
      if (attempt >= retries || !isDeadlock(error)) throw error
    }
  }
}

async function attemptInTenant<T>(store: Store, tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  const jobs: Job[] = []
  const last: (() => Promise<void>)[] = []
  const result = await store.db.transaction().execute(async (q) => {
    await sql`
      select set_config('role', 'simherd_tenant', true), set_config('app.tenant', ${tenantId}, true)
             ${patience(store)}`.execute(q)
    const done = await work({
      q,
      tenantId,
      now: new Date(store.clock()),
      caller: store.caller ?? null,
      enqueue: (job) => jobs.push({ ...job, tenantId }),
      atEnd: (one) => last.push(one),
    })
    for (const one of last) await one()
    return done
  })
  if (jobs.length > 0) store.enqueue(jobs)
  return result
}

/** An open transaction on the cross-tenant tables: tenants, keys, platform tariffs, rule sets, work lists. */
export interface PlatformTx {
  readonly q: Transaction<unknown>
  readonly now: Date
  /** Null where the service works by itself. */
  readonly caller: Caller | null
}

/** Runs work in one transaction on the platform's few cross-tenant tables, and on nothing else. */
export async function inPlatform<T>(store: Store, work: (tx: PlatformTx) => Promise<T>): Promise<T> {
  return store.db.transaction().execute(async (q) => {
    await sql`
      select set_config('role', 'simherd_platform', true), set_config('app.tenant', '', true)
             ${patience(store)}`.execute(q)
    return work({ q, now: new Date(store.clock()), caller: store.caller ?? null })
  })
}
