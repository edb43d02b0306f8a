/** Where and in which device SIMs were last seen: rows of `sim_sightings`. */
import { sql } from 'kysely'

/** Joins the sighting `g` of each SIM `s`, if any. `limit 1` makes PostgreSQL look each SIM up. */
export const SIGHTING = sql`
  left join lateral (select * from sim_sightings where tenant_id = s.tenant_id and sim_id = s.id limit 1) g on true`

/** The IMEI of a SIM `s` with the sighting `g`, if any: the one it was imported with until a record names one. */
export const SIM_IMEI = sql`case when g.imei_seen_at is null then s.imei else g.imei end`
