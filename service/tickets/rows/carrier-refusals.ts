/** Credentials that the carrier refuses. Workers with the same credential share its row and its probes. */
import { sql } from 'kysely'
import { type CarrierRefusal, isRefused } from '../../../domain/tickets/carrier-refusal.ts'
import { kept } from '../../../store/kept.ts'
import type { PlatformTx, TenantTx } from '../../../store/tenancy.ts'

const columns = sql`credential, since, probes, probe_at as "probeAt", told_at as "toldAt", ended_at as "endedAt"`

type Row = CarrierRefusal & { readonly credential: string }

/** The refusals of all credentials ever refused, by credential: there are few. */
export async function readCarrierRefusals(tx: TenantTx | PlatformTx): Promise<Map<string, CarrierRefusal>> {
  const { rows } = await sql<Row>`${kept} select ${columns} from carrier_refusals`.execute(tx.q)
  return new Map(rows.map((row) => [row.credential, row]))
}

/** The refusal of a credential; undefined while the carrier accepts it. */
export async function refusalNow(tx: TenantTx | PlatformTx, credential: string): Promise<CarrierRefusal | undefined> {
  const known = (await readCarrierRefusals(tx)).get(credential)
  return known !== undefined && isRefused(known) ? known : undefined
}

/** Takes the next probe of a refused credential, if it may be sent now. @param until when another may take one */
export async function takeCarrierProbe(tx: PlatformTx, credential: string, until: Date): Promise<boolean> {
  const { rows } = await sql`
    update carrier_refusals set probe_at = ${until}
     where credential = ${credential} and ended_at is null and probe_at <= ${tx.now} returning 1`.execute(tx.q)
  return rows.length > 0
}

/** Gives a probe back for lack of a ticket: another may be sent now. */
export async function returnCarrierProbe(tx: PlatformTx, credential: string): Promise<void> {
  await sql`
    update carrier_refusals set probe_at = ${tx.now}
     where credential = ${credential} and ended_at is null`.execute(tx.q)
}

/** Locks the row of a credential. Adds it for a credential never refused, as just accepted. */
export async function lockCarrierRefusal(tx: PlatformTx, credential: string): Promise<CarrierRefusal> {
  await sql`
    insert into carrier_refusals (credential, since, probes, probe_at, ended_at)
    values (${credential}, ${tx.now}, 0, ${tx.now}, ${tx.now}) on conflict do nothing`.execute(tx.q)
  const { rows } = await sql<Row>`
    select ${columns} from carrier_refusals where credential = ${credential} for update`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('the row of a credential was not written')
  return row
}

/** Writes the row of a credential. Call with it locked. */
export async function saveCarrierRefusal(
  tx: PlatformTx,
  credential: string,
  { since, probes, probeAt, toldAt, endedAt }: CarrierRefusal,
): Promise<void> {
  await sql`
    update carrier_refusals
       set since = ${since}, probes = ${probes}, probe_at = ${probeAt}, told_at = ${toldAt}, ended_at = ${endedAt}
     where credential = ${credential}`.execute(tx.q)
}
