/** The shadow log. Entries are written together with the alerts that they describe, and kept for a while. */
import { type RawBuilder, sql } from 'kysely'
import type { ShadowAct, ShadowEntry, ShadowQuery } from '../../../domain/alerts/shadow-entry.ts'
import type { LogLevel } from '../../../domain/codes.ts'
import type { Place } from '../../../domain/cursor.ts'
import { pageRequest } from '../../../domain/page.ts'
import { microsOf, olderThan, placeOf } from '../../../store/keyset-pages.ts'
import { type Part, readPage, readPart, within } from '../../../store/paging.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'

export interface NewShadowEntry {
  /** Key of the telling. A tenant gets at most one entry for a key and a would-be action. */
  readonly dedupeKey: string
  readonly does: ShadowAct
  readonly rule: string
  readonly ruleVersion: number
  readonly simId: number | null
  readonly poolId: number | null
  readonly level: LogLevel
  readonly message: string
  readonly cycleKey: string
}

/** Writes entries. An existing one stays unchanged. */
export async function insertShadowEntries(tx: TenantTx, entries: readonly NewShadowEntry[]): Promise<void> {
  if (entries.length === 0) return
  await sql`
    insert into shadow_log (dedupe_key, does, rule, rule_version, sim_id, pool_id, level, message, at, cycle_key)
    select "dedupeKey", does, rule, "ruleVersion", "simId", "poolId", level, message, ${tx.now}, "cycleKey"
      from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as e(
        "dedupeKey" text, does text, rule text, "ruleVersion" integer, "simId" bigint, "poolId" integer, level smallint,
        message text, "cycleKey" text)
     order by "dedupeKey", does
    on conflict (tenant_id, dedupe_key, does) do nothing`.execute(tx.q)
}

type Row = Omit<ShadowEntry, 'date'> & Place & { readonly at: Date }

const columns = sql`id, rule, rule_version as version, does, sim_id as "simId", pool_id as "poolId", level, message, at,
                    ${microsOf(sql`at`)}`

const matching = ({ rule, version, does, date }: ShadowQuery): RawBuilder<unknown> => sql`
  ${rule === undefined ? sql`` : sql`and rule = ${rule}`}
  ${version === undefined ? sql`` : sql`and rule_version = ${version}`}
  ${does === undefined ? sql`` : sql`and does = ${does}`}
  ${within(sql`at`, date)}`

/**
 * Reads a page of the shadow log, newest first, or the part after a cursor.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar, or the cursor is none
 */
export function pageOfShadowLog(tx: TenantTx, query: ShadowQuery): Promise<Part<ShadowEntry>> {
  const page = pageRequest(query)
  const from = sql`from shadow_log where tenant_id = ${mine} ${matching(query)}`
  return readPart<Row, ShadowEntry>(
    'shadow',
    { page, cursor: query.cursor },
    {
      page: () => readPage<Row>(tx, { columns, from, orderBy: sql`at desc, id desc` }, page),
      after: async (place, most) => {
        const { rows } = await sql<Row>`
          select ${columns} from shadow_log
           where tenant_id = ${mine} ${olderThan(sql`at`, place)} ${matching(query)}
           order by at desc, id desc limit ${most}`.execute(tx.q)
        return rows
      },
      placeOf,
      show: (rows) => rows.map(({ at, micros: _, ...row }) => ({ ...row, date: at.toISOString() })),
    },
  )
}

/** Deletes entries of all tenants from before an instant, the oldest first. @returns how many */
export async function forgetShadowEntries(tx: PlatformTx, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from shadow_log s using (
      select tenant_id, id from shadow_log where at < ${before} order by at limit ${limit}
    ) old
     where s.tenant_id = old.tenant_id and s.id = old.id`.execute(tx.q)
  return Number(numAffectedRows ?? 0n)
}
