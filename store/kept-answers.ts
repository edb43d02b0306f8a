/**
 * Keeps answers that take seconds to compute in an estate of a million SIMs: a row each, renewed at requests. Final
 * answers, as those about a closed cycle, are kept for good.
 */
import { sql } from 'kysely'
import { mine, type TenantTx } from './tenancy.ts'

/** A kind of answer. */
export interface Keeping<A> {
  readonly kind: 'cost' | 'plan' | 'coverage'
  /** A release before this one may have written another form. */
  readonly fits: (kept: unknown) => kept is A
  /** `final`: it never changes again; `past`: it is no longer given, however young it is. */
  readonly stateOf: (tx: TenantTx, key: string, kept: A) => Promise<'current' | 'final' | 'past'>
  /** Its writes are taken back. @param before the answer that the new one replaces */
  readonly addUp: (tx: TenantTx, key: string, before: A | undefined) => Promise<A>
}

const FRESH_MS = 60_000

interface Kept<A> {
  readonly answer: A
  /** Whether it needs no renewal: it is final, or younger than a minute. */
  readonly isFresh: boolean
}

/** Reads the kept answer; undefined if there is none that fits, or only a past one. */
export async function keptAnswer<A>(tx: TenantTx, keeping: Keeping<A>, key: string): Promise<Kept<A> | undefined> {
  const row = await findAnswer(tx, keeping, key)
  return row === undefined || row.state === 'past' ? undefined : { answer: row.answer, isFresh: isFresh(tx, row) }
}

/**
 * Computes an answer and keeps it, unless another request has just done so. Only one transaction at a time computes.
 *
 * The computation's writes and locks are taken back before the row is written: one transaction is enough for both.
 *
 * @param after epoch milliseconds: older answers are renewed, unless they are final
 * @returns undefined if another transaction computes it now
 */
export async function renewAnswer<A>(
  tx: TenantTx,
  keeping: Keeping<A>,
  key: string,
  after?: number,
): Promise<A | undefined> {
  if (!(await lockAnswer(tx, keeping, key))) return undefined
  const row = await findAnswer(tx, keeping, key)
  if (row !== undefined && row.state !== 'past' && isFresh(tx, row, after)) return row.answer
  const answer = await keeping.addUp(tx, key, row?.answer)
  await sql`
    insert into kept_answers (kind, key, answer, as_of)
    values (${keeping.kind}, ${key}, ${JSON.stringify(answer)}::jsonb, ${tx.now})
    on conflict (tenant_id, kind, key) do update set answer = excluded.answer, as_of = excluded.as_of`.execute(tx.q)
  return answer
}

interface Found<A> {
  readonly answer: A
  readonly asOf: Date
  readonly state: 'current' | 'final' | 'past'
}

async function findAnswer<A>(
  tx: TenantTx,
  { kind, fits, stateOf }: Keeping<A>,
  key: string,
): Promise<Found<A> | undefined> {
  const { rows } = await sql<{ answer: unknown; asOf: Date }>`
    select answer, as_of as "asOf" from kept_answers
     where tenant_id = ${mine} and kind = ${kind} and key = ${key}`.execute(tx.q)
  const [row] = rows
  if (row === undefined || !fits(row.answer)) return undefined
  return { asOf: row.asOf, answer: row.answer, state: await stateOf(tx, key, row.answer) }
}

/** Locks a kept answer, even if it is missing, without waiting. @returns false if another transaction has it locked */
async function lockAnswer<A>(tx: TenantTx, { kind }: Keeping<A>, key: string): Promise<boolean> {
  const name = `kept_answers/${tx.tenantId}/${kind}/${key}`
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`.execute(tx.q)
  return rows[0]?.locked === true
}

function isFresh<A>(tx: TenantTx, { asOf, state }: Found<A>, after?: number): boolean {
  if (state === 'final') return true
  // A clock may have been ahead, and gone back.
  const ageMs = Math.abs(tx.now.getTime() - asOf.getTime())
  return after === undefined ? ageMs < FRESH_MS : asOf.getTime() > after
}
