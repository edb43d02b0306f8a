/** Usage over time: of a SIM from its records, of a pool and the tenant from time buckets. */
import { type RawBuilder, sql } from 'kysely'
import { SUBJECT_CODES, type Subject } from '../../../domain/watchdog/subject.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Most records or buckets read for a series. */
export const MOST_READ = 50_000

interface Span {
  readonly from: Date
  /** Not in it. */
  readonly to: Date
  readonly stepMs: number
}

export interface UsageSum {
  /** Start of the step, epoch milliseconds. */
  readonly at: number
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}

/** Sums of the steps with usage. @returns undefined if there is more to read than {@link MOST_READ} */
export async function usageSums(
  tx: TenantTx,
  { kind, id }: Subject,
  { from, to, stepMs }: Span,
): Promise<UsageSum[] | undefined> {
  const most = sql`limit ${MOST_READ + 1}::bigint`
  const source: RawBuilder<unknown> =
    kind === 'sim'
      ? sql`select at, bytes_up + bytes_down as bytes, voice_seconds, sms_count from usage_records
             where sim_id = ${id} and at >= ${from} and at < ${to} ${most}`
      : sql`select starts_at as at, bytes, voice_seconds, sms_count from usage_buckets
             where tenant_id = ${mine} and subject_kind = ${SUBJECT_CODES[kind]} and subject_id = ${id}
               and starts_at >= ${from} and starts_at < ${to} ${most}`
  const { rows } = await sql<UsageSum & { readonly read: number }>`
    select floor(extract(epoch from at) * 1000 / ${stepMs}::bigint)::bigint * ${stepMs}::bigint as at,
           sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as "voiceSeconds", sum(sms_count)::bigint as "smsCount",
           count(*)::integer as read
      from (${source}) u
     group by 1`.execute(tx.q)
  const read = rows.reduce((sum, row) => sum + row.read, 0)
  return read > MOST_READ ? undefined : rows.map(({ read: _, ...row }) => row)
}
