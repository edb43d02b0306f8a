/** Answers kept under an Idempotency-Key, in the transaction of the effect they tell of. */
import { sql } from 'kysely'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** The platform's own requests are kept under no tenant. */
const PLATFORM = ''

export interface KeptResponse<T> {
  readonly fingerprint: string
  readonly status: number
  /** Null where it held a secret: such an answer is never given again. */
  readonly body: T
}

const ownerOf = (tx: TenantTx | PlatformTx): string => ('tenantId' in tx ? tx.tenantId : PLATFORM)

/** Holds a key until the transaction ends. @returns false where another transaction holds it */
export async function lockIdempotencyKey(tx: TenantTx | PlatformTx, key: string): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`idempotency/${ownerOf(tx)}/${key}`}, 0)) as locked`.execute(
    tx.q,
  )
  return rows[0]?.locked === true
}

/** The answer kept under a key since an instant; an older one is deleted. Call with the key locked. */
export async function keptResponse<T>(
  tx: TenantTx | PlatformTx,
  key: string,
  since: Date,
): Promise<KeptResponse<T> | undefined> {
  const owner = ownerOf(tx)
  await sql`
    delete from idempotency_keys where tenant_id = ${owner} and key = ${key} and created_at < ${since}`.execute(tx.q)
  const { rows } = await sql<KeptResponse<T>>`
    select fingerprint, status, body from idempotency_keys where tenant_id = ${owner} and key = ${key}`.execute(tx.q)
  return rows[0]
}

/** Keeps an answer. */
export async function keepResponse(
  tx: TenantTx | PlatformTx,
  key: string,
  answer: KeptResponse<unknown>,
): Promise<void> {
  const body = answer.body === null ? null : JSON.stringify(answer.body)
  await sql`
    insert into idempotency_keys (tenant_id, key, fingerprint, status, body, created_at)
    values (${ownerOf(tx)}, ${key}, ${answer.fingerprint}, ${answer.status}, ${body}::jsonb, ${tx.now})`.execute(tx.q)
}

/** Deletes answers kept before an instant, over all tenants. @returns how many */
export async function forgetResponses(tx: PlatformTx, before: Date): Promise<number> {
  const result = await sql`delete from idempotency_keys where created_at < ${before}`.execute(tx.q)
  return Number(result.numAffectedRows ?? 0n)
}
