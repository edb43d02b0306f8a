/** Addresses of a tenant's mails. Source: decision 0048. */
import { sql } from 'kysely'
import type { Address, AddressKind } from '../../../domain/channels/address.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

interface AddressRow extends Omit<Address, 'confirmedAt' | 'badSince' | 'createdAt'> {
  readonly confirmedAt: Date | null
  readonly badSince: Date | null
  readonly createdAt: Date | null
}

const columns = sql`id, kind, email, level, rules, confirmed_at as "confirmedAt", bad_since as "badSince",
  created_at as "createdAt"`

const toAddress = ({ confirmedAt, badSince, createdAt, ...row }: AddressRow): Address => ({
  ...row,
  confirmedAt: confirmedAt?.toISOString() ?? null,
  badSince: badSince?.toISOString() ?? null,
  createdAt: createdAt?.toISOString() ?? null,
})

/** All addresses of the tenant, billing first. Its billing address is among them, even without a row. */
export async function readAddresses(tx: TenantTx): Promise<Address[]> {
  const { rows } = await sql<AddressRow>`
    select ${columns} from addresses where tenant_id = ${mine}
     union all
    select null, 'billing', billing_email, null, null, created_at, null, null from tenants t
     where id = ${tx.tenantId} and billing_email <> ''
       and not exists (select from addresses a where a.tenant_id = t.id and a.kind = 'billing'
                          and lower(a.email) = lower(t.billing_email))
     order by kind, id nulls last`.execute(tx.q)
  return rows.map(toAddress)
}

/** Reads an address and locks it; undefined if there is none. */
export async function lockAddress(tx: TenantTx, id: number): Promise<Address | undefined> {
  const { rows } = await sql<AddressRow>`
    select ${columns} from addresses where id = ${id}::bigint for update`.execute(tx.q)
  return rows.map(toAddress)[0]
}

/** Locks the tenant's addresses against a new one, until the transaction ends. @returns how many there are */
export async function lockAddresses(tx: TenantTx): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`addresses/${tx.tenantId}`}, 0))`.execute(tx.q)
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from addresses where tenant_id = ${mine}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** @returns its id; undefined if there is one of this kind already */
export async function insertAddress(
  tx: TenantTx,
  address: Pick<Address, 'email' | 'level' | 'rules'> & {
    readonly kind: AddressKind
    readonly confirmedAt: Date | null
  },
): Promise<number | undefined> {
  const { kind, email, level, rules, confirmedAt } = address
  const { rows } = await sql<{ id: number }>`
    insert into addresses (kind, email, level, rules, confirmed_at, created_at, created_by)
    values (${kind}, ${email}, ${level}, ${rules}, ${confirmedAt}, ${tx.now}, ${tx.caller?.actor ?? null})
    on conflict (tenant_id, kind, lower(email)) do nothing
    returning id`.execute(tx.q)
  return rows[0]?.id
}

export async function writeConfirmed(tx: TenantTx, id: number): Promise<void> {
  await sql`update addresses set confirmed_at = ${tx.now} where id = ${id}`.execute(tx.q)
}

/** Lets a bad address get mails again. */
export async function writeCleared(tx: TenantTx, id: number): Promise<void> {
  await sql`update addresses set bad_since = null where id = ${id}`.execute(tx.q)
}

/** Marks an address bad in all its roles for the tenant: no server takes mails for it. Keeps an earlier mark. */
export async function markBad(tx: TenantTx, email: string): Promise<void> {
  const { confirmedAt = null } =
    (await readAddresses(tx)).find((one) => one.id === null && isSame(one.email, email)) ?? {}
  if (confirmedAt !== null) {
    const billing = { kind: 'billing' as const, email, level: null, rules: null, confirmedAt: new Date(confirmedAt) }
    await insertAddress(tx, billing)
  }
  await sql`
    update addresses set bad_since = ${tx.now}
     where tenant_id = ${mine} and lower(email) = lower(${email}) and bad_since is null`.execute(tx.q)
}

/** Removes the mark of a bad address in all its roles for the tenant: a server took a mail for it. */
export async function markWell(tx: TenantTx, email: string): Promise<void> {
  await sql`
    update addresses set bad_since = null
     where tenant_id = ${mine} and lower(email) = lower(${email}) and bad_since is not null`.execute(tx.q)
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

export async function deleteAddress(tx: TenantTx, id: number): Promise<void> {
  await sql`delete from addresses where id = ${id}`.execute(tx.q)
}

/** Removes all billing addresses but this one; with `unconfirmed` only those not confirmed. */
export async function deleteOtherBilling(
  tx: TenantTx,
  email: string,
  which: 'all' | 'unconfirmed' = 'all',
): Promise<void> {
  await sql`
    delete from addresses
     where tenant_id = ${mine} and kind = 'billing' and lower(email) <> lower(${email})
       ${which === 'all' ? sql`` : sql`and confirmed_at is null`}`.execute(tx.q)
}

/**
 * Records a change of the tenant's billing address. The previous one gets mails until the new one is confirmed, unless
 * it was never confirmed. An address confirmed before needs no new confirmation.
 */
export async function changeBilling(tx: TenantTx, before: string, after: string): Promise<void> {
  const { rows: known } = await sql<AddressRow>`
    select ${columns} from addresses
     where tenant_id = ${mine} and kind = 'billing' order by id for update`.execute(tx.q)
  const nothing = { kind: 'billing' as const, level: null, rules: null }
  if (before !== '' && !known.some(({ email }) => isSame(email, before))) {
    await insertAddress(tx, { ...nothing, email: before, confirmedAt: tx.now })
  }
  const isConfirmed = known.some(({ email, confirmedAt }) => isSame(email, after) && confirmedAt !== null)
  await insertAddress(tx, { ...nothing, email: after, confirmedAt: null })
  // Update the spelling.
  await sql`
    update addresses set email = ${after}
     where tenant_id = ${mine} and kind = 'billing' and lower(email) = lower(${after})`.execute(tx.q)
  await deleteOtherBilling(tx, after, isConfirmed || isSame(before, after) ? 'all' : 'unconfirmed')
}
