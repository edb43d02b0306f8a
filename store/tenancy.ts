/**
 * The only ways to the database: as one tenant, or as the platform.
 *
 * Each of them opens a transaction and sets a role without login: row-level security applies to every statement in it.
 * The setting `app.tenant` names the tenant of the visible rows.
 */
import { type Kysely, type KyselyPlugin, sql, type Transaction } from 'kysely'
import type { Job } from '../domain/jobs.ts'
import { hasCode } from './away.ts'
import { ahead, kept, patient } from './kept.ts'
import { openTally, type Tally, tallies } from './tally.ts'
import type { Turns } from './turns.ts'

export type Db = Kysely<unknown>

export interface Caller {
  /** `key:<id>`, `cli:<user>@<host>`, `service:<process>` or `mail-link`. */
  readonly actor: string
  /** Id of the API key that the request came with; null without one. */
  readonly keyId: string | null
  /** Id of the request. A command or a process generates one for each unit of its work. */
  readonly requestId: string
  /** The operationId of the interface's operation, or the name of the command. */
  readonly action: string
  /** Id of the workflow that makes the request, with the workers' key; null if none does. */
  readonly workflowId: string | null
  /** The request's Idempotency-Key. If a workflow makes the request, the key names one of its steps. */
  readonly idempotencyKey?: string
}

export interface Store {
  readonly db: Db
  /** The clock, in epoch milliseconds. SQL never relies on the server's own clock. */
  readonly clock: () => number
  /** Enqueues jobs after a commit. Must not throw. */
  readonly enqueue: (jobs: readonly Job[]) => void
  /** The origin of changes. Omitted: the service. */
  readonly caller?: Caller
  /** Divides the connections among tenants. Omitted: a transaction takes any free one. */
  readonly turns?: Turns
  /** Whether its transactions continue begun work: they wait for their turn at any length of the queue. Default: no. */
  readonly continues?: boolean
  /** How often to retry a transaction that PostgreSQL ended for a deadlock. Default: 3; tests allow none. */
  readonly deadlockRetries?: number
  /** Whether it only reads: all of a transaction is then of one moment, and PostgreSQL refuses a write. */
  readonly readOnly?: boolean
  /** How cycles not opened ahead are opened. Default: {@link OPENING}; tests open less at once. */
  readonly opening?: Opening
  /** Whether its statements read a whole estate and may take {@link SLOW_MS}. Default: no. */
  readonly slow?: boolean
  /** Aborted when the result is no longer needed: no further statement of its transactions is sent. */
  readonly left?: AbortSignal
  /** Whether it works in temporary tables (service/backtests/rows/), under separate locks, and writes no others. */
  readonly isReplay?: boolean
}

/** How a billing cycle is opened. */
export interface Opening {
  /** Most SIMs that one transaction opens a cycle for. */
  readonly sims: number
  /** How long work waits for a cycle that takes more than one transaction, in milliseconds. */
  readonly waitMs: number
}
/**
 * 10,000 SIMs take about 0.1 s (`tools/bench/cycle.ts`), so a smaller estate notices nothing. In 5 s 150,000 to 500,000 are
 * opened, and callers that give a request 10 s still get their answer.
 */
export const OPENING: Opening = { sims: 10_000, waitMs: 5000 }

/** Statement timeout for a month end, an import, or a whole estate, in milliseconds. */
const SLOW_MS = 300_000
/**
 * Timeouts of a statement, of a wait for a lock, and of an idle transaction, in milliseconds. Cancelled work is tried
 * again: callers get a 503, sweeps find lost jobs, and activities are retried. Set in the select that begins a
 * transaction: a pooler takes no such settings for a connection. A process that hangs holds its locks until its
 * transaction counts as idle.
 */
const STATEMENT_MS = 30_000
const LOCK_MS = 5000
const IDLE_MS = 15_000

/** The same store, with a statement timeout of minutes. */
export const withLongTimeout = (store: Store): Store => ({ ...store, slow: true })

/** The same store, for transactions after a first one, if a refusal would lose its work. */
export const continuing = (store: Store): Store => ({ ...store, continues: true })

/** The same store, for reads: no lock, no write, every transaction of one moment. A replica could serve it. */
export const readOnly = (store: Store): Store => ({ ...store, readOnly: true })

/** Sets the role, tenant and limits of a transaction, ahead of its first statement. */
const settingsOf = ({ slow = false }: Store, role: 'simherd_tenant' | 'simherd_platform', tenantId: string) => sql`
  ${kept}${ahead}${slow ? patient : sql``}
  select set_config('role', ${sql.lit(role)}, true), set_config('app.tenant', ${tenantId}, true),
         set_config('statement_timeout', ${sql.lit(String(slow ? SLOW_MS : STATEMENT_MS))}, true),
         set_config('lock_timeout', ${sql.lit(String(LOCK_MS))}, true),
         set_config('idle_in_transaction_session_timeout', ${sql.lit(String(IDLE_MS))}, true)`

const DEADLOCK_RETRIES = 3

/** An open transaction within one tenant's rows. */
export interface TenantTx {
  readonly q: Transaction<unknown>
  readonly tenantId: string
  /** The base of the keys of the tenant's advisory locks: a replay waits for no work on the tenant. */
  readonly lockName: string
  /** Whether all its tables are temporary, and made beforehand. */
  readonly isReplay: boolean
  readonly opening: Opening
  /** The transaction's instant, the same for all that it writes. */
  readonly now: Date
  /** Null if the service acts without a caller. */
  readonly caller: Caller | null
  /** Enqueues a job once this transaction has committed. */
  readonly enqueue: (job: JobWithoutTenant) => void
  /**
   * Runs work after everything else in this transaction. Use it for a row that must be locked last, if the need to
   * write it arises earlier in the transaction.
   */
  readonly atEnd: (work: () => Promise<void>) => void
  /** Counts a change of the tenant's SIMs. The counts are written after everything else. */
  readonly tally: Tally['add']
}

type JobWithoutTenant = Job extends infer B ? (B extends Job ? Omit<B, 'tenantId'> : never) : never

/** Whether PostgreSQL ended this transaction to resolve a deadlock. It is then run again. */
const isDeadlock = (error: unknown): boolean => hasCode(error, '40P01')

/** Does preparatory work in separate transactions. @param until how long to wait, by `performance.now()` */
type First = (store: Store, tenantId: string, until: number) => Promise<void>

/** Breaks off a transaction that needs long work first. `inTenant` does that work, and then runs it again. */
export class DoFirst extends Error {
  readonly first: First
  constructor(message: string, first: First) {
    super(message)
    this.name = 'DoFirst'
    this.first = first
  }
}

/**
 * Runs work in one transaction that sees and writes only this tenant's rows. Jobs are enqueued after the commit.
 *
 * If the database ends the transaction for a deadlock, the work runs again from the beginning. If the work needs other
 * work first ({@link DoFirst}), does that for at most `opening.waitMs`, and then runs the work again.
 *
 * @throws ServiceError `unavailable` if it would have to wait longer; `quota_exceeded` if the tenant has too many
 *   transactions waiting
 */
export async function inTenant<T>(store: Store, tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  let retries = store.deadlockRetries ?? DEADLOCK_RETRIES
  let until: number | undefined
  for (;;) {
    try {
      const attempt = () => attemptInTenant(store, tenantId, work)
      return await (store.turns?.take(tenantId, attempt, store.continues !== true) ?? attempt())
    } catch (error) {
      if (error instanceof DoFirst) {
        until ??= performance.now() + (store.opening ?? OPENING).waitMs
        await error.first(store, tenantId, until)
      } else if (retries-- <= 0 || !isDeadlock(error)) throw error
    }
  }
}

/**
 * The transaction's tenant, as the first column of a key: `tenant_id = ${mine}`. PostgreSQL then plans for a tenant of
 * usual size. Given the tenant's name, it would estimate a single row for a tenant absent from its statistics. Select a
 * cycle just opened in the same way: `cycle_key = (select ${key}::text)`.
 *
 * A list in an order that an index without the tenant has too takes `mineAfter` (keyset-pages.ts).
 */
export const mine = sql`(select app_tenant())`

/** Begins a transaction. A read-only one may write temporary tables. */
function beginning({ db, readOnly = false, isReplay = false }: Store) {
  const transaction = db.transaction()
  if (readOnly) return transaction.setIsolationLevel('repeatable read').setAccessMode('read only')
  return isReplay ? transaction.setAccessMode('read only') : transaction
}

/** Refuses each further statement once the signal is aborted, to roll back its transaction. */
const endingWith = (left: AbortSignal): KyselyPlugin => ({
  transformQuery: ({ node }) => {
    left.throwIfAborted()
    return node
  },
  transformResult: async ({ result }) => result,
})

async function attemptInTenant<T>(store: Store, tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  const jobs: Job[] = []
  const last: (() => Promise<void>)[] = []
  const tally = openTally()
  store.left?.throwIfAborted()
  const result = await beginning(store).execute(async (begun) => {
    const q = store.left === undefined ? begun : begun.withPlugin(endingWith(store.left))
    await sql`${settingsOf(store, 'simherd_tenant', tenantId)}, ${tallies}`.execute(q)
    const done = await work({
      q,
      tenantId,
      isReplay: store.isReplay === true,
      lockName: store.isReplay === true ? `replay/${tenantId}` : tenantId,
      opening: store.opening ?? OPENING,
      now: new Date(store.clock()),
      caller: store.caller ?? null,
      enqueue: (job) => jobs.push({ ...job, tenantId }),
      atEnd: (one) => last.push(one),
      tally: tally.add,
    })
    for (const one of last) await one()
    await tally.write({ q, tenantId })
    return done
  })
  if (jobs.length > 0) store.enqueue(jobs)
  return result
}

/** An open transaction on the cross-tenant tables: tenants, keys, platform tariffs, rule sets, work lists. */
export interface PlatformTx {
  readonly q: Transaction<unknown>
  readonly now: Date
  /** Null if the service acts without a caller. */
  readonly caller: Caller | null
}

/** Runs work in one transaction that sees only the platform's few cross-tenant tables. Not retried after a deadlock. */
export async function inPlatform<T>(store: Store, work: (tx: PlatformTx) => Promise<T>): Promise<T> {
  return beginning(store).execute(async (q) => {
    await settingsOf(store, 'simherd_platform', '').execute(q)
    return work({ q, now: new Date(store.clock()), caller: store.caller ?? null })
  })
}
