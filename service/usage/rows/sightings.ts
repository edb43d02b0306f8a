/** Where and in which device SIMs were last seen: rows of `sim_sightings`. */
import { sql } from 'kysely'

/** The IMEI of a SIM `s` with the sighting `g`, if any: the one it was imported with until a record names one. */
export const SIM_IMEI = sql`case when g.imei_seen_at is null then s.imei else g.imei end`
