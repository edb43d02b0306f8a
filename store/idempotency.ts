/** Responses stored under an Idempotency-Key, in the transaction of the effect that they report. */
import { sql } from 'kysely'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** Owner of the platform's requests: they belong to no tenant. */
const PLATFORM = ''

export interface KeptResponse<T> {
  readonly fingerprint: string
  readonly status: number
  /** Null if the response contained a secret: such a response is never sent again. */
  readonly body: T
}

const ownerOf = (tx: TenantTx | PlatformTx): string => ('tenantId' in tx ? tx.tenantId : PLATFORM)

/** Locks a key until the transaction ends, without waiting. @returns false if another transaction has it locked */
export async function lockIdempotencyKey(tx: TenantTx | PlatformTx, key: string): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`idempotency/${ownerOf(tx)}/${key}`}, 0)) as locked`.execute(
    tx.q,
  )
  return rows[0]?.locked === true
}

/** Reads the response stored under a key since an instant, and deletes an older one. Call with the key locked. */
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

/** Deletes responses stored before an instant, of all tenants. @returns how many */
export async function forgetResponses(tx: PlatformTx, before: Date): Promise<number> {
  const result = await sql`delete from idempotency_keys where created_at < ${before}`.execute(tx.q)
  return Number(result.numAffectedRows ?? 0n)
}
