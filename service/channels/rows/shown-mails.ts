/** Mails as they are shown: a list, and one with its body and its attempts. */
import { type RawBuilder, sql } from 'kysely'
import type { MailDetail, MailInfo, MailQuery, MailSubject } from '../../../domain/channels/mail.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { attemptsOf } from './mail-attempts.ts'

type MailRow = Omit<MailInfo, 'createdAt' | 'sentAt'> & { readonly createdAt: Date; readonly sentAt: Date | null }

const toMail = (row: MailRow): MailInfo => ({
  ...row,
  createdAt: row.createdAt.toISOString(),
  sentAt: row.sentAt?.toISOString() ?? null,
})

/** Keys of a mail in a list. A mail may have 5,000. */
const LISTED_KEYS = 100
/** Most subjects, and most mails that repeat a mail. */
const MOST = 50

/** @param keys most keys of a mail; null: all */
const columnsWith = (
  keys: number | null,
) => sql`m.mail_id as id, m.recipient, m.subject, m.status, m.attempts, m.response,
        m.created_at as "createdAt", case m.status when 'sent' then m.ended_at end as "sentAt",
        array(select n.dedupe_key from notifications n
               where n.mail_id = m.mail_id order by n.id limit ${keys}) as keys`

/** Mails that send a mail again, or copy it, the newest first. */
const repeated = (by: 'resends' | 'copy_of') => sql`
  array(select r.mail_id from deliveries r
         where r.repeats = m.mail_id and r.${sql.ref(by)} is not null order by r.id desc limit ${MOST})`

type DetailRow = MailRow & Pick<MailDetail, 'resends' | 'resentAs' | 'copyOf' | 'copies' | 'body'>

/** A mail with its body and its attempts; undefined if there is none. */
export async function findMail(tx: TenantTx, id: string): Promise<MailDetail | undefined> {
  const { rows } = await sql<DetailRow>`
    select ${columnsWith(null)}, m.resends, m.copy_of as "copyOf",
           ${repeated('resends')} as "resentAs", ${repeated('copy_of')} as copies,
           case when b.mail_id is not null then
             jsonb_build_object('text', b.text, 'html', b.html, 'headers', b.headers, 'attachments', array(
               select jsonb_build_object('filename', a ->> 'filename', 'contentType', a ->> 'contentType')
                 from jsonb_array_elements(b.attachments) a)) end as body
      from deliveries m
      left join mail_bodies b on b.tenant_id = m.tenant_id and b.mail_id = m.mail_id
     where m.mail_id = ${id}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const { resends, resentAs, copyOf, copies, body, ...mail } = row
  const [attemptLog, about] = [await attemptsOf(tx, id), await subjectsOf(tx, id)]
  return { ...toMail(mail), attemptLog, about, resends, resentAs, copyOf, copies, body }
}

/** Rules and subjects of the notices of a mail. A mail that repeats another has none of its own, but those of that one. */
async function subjectsOf(tx: TenantTx, id: string): Promise<MailSubject[]> {
  const { rows } = await sql<MailSubject>`
    with recursive origin as (
      select mail_id, repeats from deliveries where mail_id = ${id}
      union
      select d.mail_id, d.repeats from origin o join deliveries d on d.mail_id = o.repeats
    ), told as (
      select body #>> '{rule,name}' as rule, split_part(subject, '/', 1) as kind, split_part(subject, '/', 2) as about,
             max(body #>> '{subject,label}') as label, min(id) as first
        from notifications
       where mail_id = (select mail_id from origin where repeats is null limit 1) and subject is not null
       group by 1, 2, 3
    )
    select rule, jsonb_build_object(
             'kind', kind, 'label', label, 'id', case kind when 'tenant' then 0 else about::bigint end) as subject
      from told order by first limit ${MOST}`.execute(tx.q)
  return rows
}

/** Reads a page of the mails, newest first. @param keys of the notices of the alert in the query */
export async function pageOfMails(tx: TenantTx, query: MailQuery, keys?: readonly string[]): Promise<Page<MailInfo>> {
  const page = pageRequest(query)
  const { status } = query
  const { rows, totalItems } = await readPage<MailRow>(
    tx,
    {
      columns: columnsWith(LISTED_KEYS),
      from: sql`
        from ${sourceOf(query, keys)} m
       where m.tenant_id = ${mine} and m.mail_id is not null ${status === undefined ? sql`` : sql`and m.status = ${status}`}`,
      orderBy: sql`"createdAt" desc, id`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toMail))
}

/**
 * The mails whose notices a filter chooses, and those that repeat them. Each is looked up by itself, as without
 * statistics of the tenant PostgreSQL would go through all its mails.
 */
function sourceOf({ simId, poolId }: MailQuery, keys: readonly string[] | undefined): RawBuilder<unknown> {
  const chosen = [
    ...(simId === undefined ? [] : [sql`subject = ${`sim/${simId}`}`]),
    ...(poolId === undefined ? [] : [sql`subject = ${`pool/${poolId}`}`]),
    ...(keys === undefined ? [] : [sql`dedupe_key = any(${[...keys]}::text[])`]),
  ]
  if (chosen.length === 0) return sql`deliveries`
  return sql`(
    with recursive told as (
      select mail_id from notifications
       where tenant_id = ${mine} and mail_id is not null and ${sql.join(chosen, sql` and `)}
      union
      select r.mail_id from told cross join lateral (
        select mail_id from deliveries where repeats = told.mail_id offset 0) r
    )
    select d.* from told cross join lateral (select * from deliveries where mail_id = told.mail_id offset 0) d)`
}
