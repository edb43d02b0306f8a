/** Billing cycles of a tenant: the running one, its opening slice by slice, and ended ones. */

import { type RawBuilder, sql } from 'kysely'
import type { LogLevel } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { type Cycle, cycleAt, cycleOfKey, nextCycle } from '../../../domain/time/cycle.ts'
import { kept } from '../../../store/kept.ts'
import { inTenant, mine, readOnly, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { openCycle, openSlice } from './open-cycle.ts'

/** A tenant's settings for time and enforcement. */
export interface TenantSettings {
  readonly billingCycle: string
  /** Of its charges: ISO 4217. */
  readonly currency: string
  /** How often usage is received: an ISO 8601 duration. */
  readonly feedEvery: string
  readonly enforcementEnabled: boolean
  /** ISO 8601; null: a Critical alert is never escalated. */
  readonly escalateAfter: string | null
  /** The least level of mailed alerts. */
  readonly mailsFrom: LogLevel
  /** IANA name: instants in messages and mails. */
  readonly timeZone: string
}

/** @throws Error if the tenant does not exist */
export async function tenantSettings(tx: TenantTx): Promise<TenantSettings> {
  const { rows } = await sql<TenantSettings>`${kept}
    select billing_cycle as "billingCycle", currency, feed_every as "feedEvery", enforcement_enabled as "enforcementEnabled",
           escalate_after as "escalateAfter", mails_from as "mailsFrom", time_zone as "timeZone"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no tenant ${tx.tenantId}`)
  return row
}

/** Selects the key and the end of the running cycle; no row before it is open. A tenant's cycles never overlap. */
export const openCycleNow = ({ now }: TenantTx): RawBuilder<unknown> => sql`
  select key, ends_at from cycles where tenant_id = ${mine} and starts_at <= ${now} and ends_at > ${now}`

/** The running cycle, for reads: this does not open it, and it may be unopened. */
export async function runningCycle(tx: TenantTx): Promise<Cycle & { readonly isOpen: boolean }> {
  const { billingCycle, open } = await openSince(tx, tx.now)
  const cycle = cycleAt(billingCycle, tx.now.getTime())
  return { ...cycle, isOpen: open.includes(cycle.key) }
}

/** The running cycle, and the cycles to open: the running one unless it is open, and earlier ones opened in part. */
async function cyclesToOpen(tx: TenantTx): Promise<{ readonly running: Cycle; readonly unopened: readonly Cycle[] }> {
  const { billingCycle, open, openedInPart } = await openSince(tx, tx.now)
  const running = cycleAt(billingCycle, tx.now.getTime())
  const others = openedInPart.flatMap((key) => cycleOfKey(billingCycle, key) ?? [])
  // Future cycles can wait: the sweep opens them ahead.
  const begun = others.filter(({ startsAt }) => startsAt < running.startsAt)
  return { running, unopened: open.includes(running.key) ? begun : [running, ...begun] }
}

/**
 * The length of a tenant's cycles, the keys of open cycles that end after an instant, and the keys of cycles opened in
 * part.
 *
 * @throws Error if the tenant does not exist
 */
export async function openSince(tx: TenantTx, at: Date) {
  const { rows } = await sql<{
    readonly billingCycle: string
    readonly open: readonly string[]
    readonly openedInPart: readonly string[]
  }>`${kept}
    select billing_cycle as "billingCycle",
           array(select key from cycles where tenant_id = ${mine} and ends_at > ${at}) as open,
           array(select cycle_key from cycle_openings where tenant_id = ${mine}) as "openedInPart"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no tenant ${tx.tenantId}`)
  return row
}

/**
 * The cycle that runs now. The first call in a cycle opens it (`openCycle`); later calls cost only two cheap selects.
 *
 * @param at now, epoch milliseconds, for a transaction that waited for a lock
 */
export async function currentCycle(tx: TenantTx, at: number = tx.now.getTime()): Promise<Cycle> {
  const { billingCycle } = await tenantSettings(tx)
  const cycle = cycleAt(billingCycle, at)
  await openCycle(tx, cycle)
  return cycle
}

/** The tenant's usage in a cycle so far; 0 if the cycle was not opened. */
export async function usageIn(tx: TenantTx, key: string) {
  const { rows } = await sql<{ usageBytes: number; voiceSeconds: number; smsCount: number }>`
    select bytes as "usageBytes", voice_seconds as "voiceSeconds", sms_count as "smsCount"
      from cycles where tenant_id = ${mine} and key = ${key}`.execute(tx.q)
  return rows[0] ?? { usageBytes: 0, voiceSeconds: 0, smsCount: 0 }
}

/**
 * The billing cycle with this key for this tenant. It need not have been opened.
 *
 * @throws ServiceError `cycle_not_found`
 */
export async function cycleNamed(tx: TenantTx, key: string): Promise<Cycle> {
  const { billingCycle } = await tenantSettings(tx)
  const cycle = cycleOfKey(billingCycle, key)
  if (cycle === undefined) {
    throw new ServiceError('cycle_not_found', `'${key}' names no billing cycle of ${billingCycle}.`)
  }
  return cycle
}

/**
 * As {@link cycleNamed}, for an ended cycle.
 *
 * @throws ServiceError `cycle_not_found`; `cycle_open` if it has not ended
 */
export async function endedCycle(tx: TenantTx, key: string): Promise<Cycle> {
  const cycle = await cycleNamed(tx, key)
  if (tx.now.getTime() < cycle.endsAt) {
    throw new ServiceError('cycle_open', `Cycle ${key} runs until ${new Date(cycle.endsAt).toISOString()}.`)
  }
  return cycle
}

/** The given cycles that ended without all lines of their statement; the earliest first. */
export async function endedCycles(tx: TenantTx, keys: readonly string[]): Promise<Cycle[]> {
  const { rows } = await sql<{ key: string; startsAt: Date; endsAt: Date }>`
    select key, starts_at as "startsAt", ends_at as "endsAt" from cycles
     where tenant_id = ${mine} and key = any(${[...keys]}::text[]) and ends_at <= ${tx.now} and closed_at is null
       and stated_at is null
     order by starts_at`.execute(tx.q)
  return rows.map(({ key, startsAt, endsAt }) => ({ key, startsAt: startsAt.getTime(), endsAt: endsAt.getTime() }))
}

/**
 * Keeps a cycle from being closed until this transaction ends. It does not wait for a cycle that is just being closed.
 *
 * @returns false if the cycle is closed, or all lines of its statement are written
 */
export async function keepUnclosed(tx: TenantTx, key: string): Promise<boolean> {
  const { rows } = await sql`
    select from cycles where tenant_id = ${mine} and key = ${key} and closed_at is null and stated_at is null
       for key share skip locked`.execute(tx.q)
  return rows.length > 0
}

/** The next cycle is opened in this last share of the running one: 15 hours of a month. */
const AHEAD = 1 / 48

/**
 * Opens a cycle not open yet, without a limit of time: slice by slice, each a short transaction. May be broken off at
 * any moment and called again, on several processes at once: each takes the next slice left.
 *
 * @param finish false: opens only the slices; the caller then opens the cycle
 */
export async function openInSlices(store: Store, tenantId: string, cycle: Cycle, finish = true): Promise<void> {
  const slice = (tx: TenantTx) => openSlice(tx, cycle, tx.opening.sims, finish)
  while (!(await inTenant(store, tenantId, slice)));
}

/**
 * Opens the cycle that runs now, and earlier cycles opened in part: a process needed them, and may have died. If all
 * are open, this is one short transaction.
 */
export async function openRunningCycle(store: Store, tenantId: string): Promise<Cycle> {
  const { running, unopened } = await inTenant(readOnly(store), tenantId, cyclesToOpen)
  for (const cycle of unopened) await openInSlices(store, tenantId, cycle)
  return running
}

/**
 * Opens a tenant's due cycles: the running one if it is not open, and the next in the last {@link AHEAD} of the running
 * one.
 *
 * @returns when there will be something to do again, epoch milliseconds
 */
export async function keepCyclesOpen(store: Store, tenantId: string): Promise<number> {
  const cycle = await openRunningCycle(store, tenantId)
  const aheadAt = cycle.endsAt - (cycle.endsAt - cycle.startsAt) * AHEAD
  if (store.clock() < aheadAt) return aheadAt
  const { billingCycle } = await inTenant(store, tenantId, tenantSettings)
  await openInSlices(store, tenantId, nextCycle(billingCycle, cycle))
  return cycle.endsAt
}
