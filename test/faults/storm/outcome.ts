/** What became of the alerts: the log, the mails, and what the mail server has kept, each read by itself. */
import { markdown } from '../table.ts'
import type { Played } from './play.ts'
import type { Storm } from './storm.ts'
import type { Strike } from './strike.ts'
import type { StormTenant } from './tenants.ts'

/** A mail that the server has kept. Kept twice, there are two with one Message-ID. */
interface KeptMail {
  readonly messageId: string
  /** Epoch milliseconds. */
  readonly keptAt: number
  /** When it answered 250; null: it never did. */
  readonly answeredAt: number | null
  /** The SIMs that it tells of, in its text or in the table attached. */
  readonly iccids: readonly string[]
}

interface MailRow {
  readonly id: string
  readonly tenant: string
  readonly status: string
  readonly response: string
  readonly text: string
  /** ICCIDs of its notices' SIMs. */
  readonly iccids: readonly string[]
}

interface StormReport {
  /** What should not be; empty if all is well. */
  readonly faults: readonly string[]
  readonly logged: number
  readonly sent: number
  readonly givenUp: number
  /** The server kept it and the sender heard of no answer: it broke the line, said nothing more, or one side was killed. */
  readonly unanswered: number
  /** The server answered 250, and the worker or PostgreSQL was killed before the commit of that. */
  readonly uncommitted: number
  /** How long before the kill the server had answered, at most, of those. Milliseconds. */
  readonly longestMs: number
  readonly answers: ReadonlyMap<string, number>
  readonly operatorMails: number
}

/** What a mail that was given up says, by how the server treats its recipient. */
const REASONS: Readonly<Record<string, { readonly response: RegExp; readonly why: string }>> = {
  '451-always': {
    response: /^451 4\.3\.0 try again later$/,
    why: 'the mail server cannot be reached, or does not take it now (451)',
  },
  '5.1.1': { response: /^550 5\.1\.1 no such mailbox$/, why: 'the mail server refuses this address (550)' },
}

/** The time between a server's answer and our commit, at most, on a busy machine. Milliseconds. */
const COMMIT_MS = 1000

const iccidsIn = (text: string): string[] => [...new Set(text.match(/894453\d{13}/g))].toSorted()
const same = (one: readonly string[], other: readonly string[]) => one.join() === other.join()

/** What became of the tenants' alerts. Mails that came twice are those of everybody. */
export async function reportOnStorm({ sources, post, service }: Storm, played: Played): Promise<StormReport> {
  const { tenants, strikes } = played
  const faults: string[] = []
  const check = (holds: boolean, fault: () => string) => {
    if (!holds) faults.push(fault())
  }
  const ids = tenants.map(({ id }) => id)
  const rows = <R extends object>(statement: string) => sources.rows<R>(statement, [ids])
  const sims = tenants.flatMap((tenant) => tenant.sims)
  const ofTenant = new Map(tenants.map((tenant) => [tenant.id, tenant]))

  const log = await rows<{ sim: string; times: number }>(
    `select sim_id::text as sim, count(*)::integer as times from watchdog_log
      where dedupe_key like '%/fired' and tenant_id = any($1) group by 1`,
  )
  check(log.length === sims.length, () => `${log.length} SIMs have an entry, not ${sims.length}`)
  for (const { sim, times } of log) check(times === 1, () => `SIM ${sim} is logged ${times} times`)

  const mails = await mailRows(rows)
  const kept = await keptMails(post)
  const answers = await post.answers()
  const byId = Map.groupBy(kept, ({ messageId }) => messageId)
  const told = new Map<string, string[]>()
  for (const mail of mails) {
    const copies = byId.get(mail.id) ?? []
    check(
      mail.status === 'sent' ? copies.length > 0 : copies.length === 0,
      () => `${mail.id} is ${mail.status}, and was kept ${copies.length} times`,
    )
    const shown = [...copies.map(({ iccids }) => iccids), iccidsIn(mail.text)]
    for (const iccids of shown)
      check(
        same(iccids, mail.iccids),
        () => `${mail.id} tells of ${iccids.length} SIMs, not of its ${mail.iccids.length}`,
      )
    for (const iccid of mail.iccids) told.set(iccid, [...(told.get(iccid) ?? []), mail.id])
    faults.push(...wrongEnd(mail, ofTenant.get(mail.tenant)))
  }
  for (const { iccid } of sims) {
    const times = told.get(iccid)?.length ?? 0
    check(times === 1, () => `SIM ${iccid} is in ${times} mails`)
  }

  const idsOf = async (statement: string) =>
    new Set((await sources.rows<{ id: string }>(statement)).map(({ id }) => id))
  const operatorIds = await idsOf('select id from operator_mails')
  const known = await idsOf('select mail_id as id from deliveries where mail_id is not null')
  for (const { messageId } of kept)
    check(known.has(messageId) || operatorIds.has(messageId), () => `the server kept ${messageId}, which nobody knows`)

  const { unanswered, committing, outside } = duplicatesOf(kept, strikes)
  faults.push(...outside.map(({ messageId }) => `${messageId} came twice, and nothing was killed between`))

  faults.push(...(await wrongEvents(rows, mails)), ...(await leftWork(rows)))
  const shown = await shownGivenUp(service, tenants)
  const givenUp = mails.filter(({ status }) => status === 'failed')
  check(
    same(shown, givenUp.map(({ id }) => id).toSorted()),
    () => `${shown.length} mails are shown as given up, not ${givenUp.length}`,
  )

  const counts = new Map(
    [...Map.groupBy(answers, ({ answer }) => answer)].map(([answer, { length }]) => [answer, length]),
  )
  return {
    faults,
    logged: log.length,
    sent: mails.length - givenUp.length,
    givenUp: givenUp.length,
    unanswered,
    uncommitted: committing.length,
    longestMs: Math.max(0, ...committing),
    answers: counts,
    operatorMails: operatorIds.size,
  }
}

type Read = <R extends object>(statement: string) => Promise<R[]>

const mailRows = async (rows: Read): Promise<MailRow[]> =>
  (
    await rows<MailRow>(`
    select m.mail_id as id, m.tenant_id as tenant, m.status, m.response,
           coalesce(b.text || b.attachments::text, '') as text,
           array(select s.iccid from notifications n
                   join sims s on s.tenant_id = n.tenant_id and s.id = (n.body #>> '{subject,id}')::bigint
                  where n.mail_id = m.mail_id) as iccids
      from deliveries m left join mail_bodies b on b.mail_id = m.mail_id
     where m.mail_id is not null and m.tenant_id = any($1) order by m.created_at`)
  ).map((mail) => ({ ...mail, iccids: mail.iccids.toSorted() }))

async function keptMails({ mails, answers }: Storm['post']): Promise<KeptMail[]> {
  const answeredAt = new Map(
    (await answers()).flatMap(({ answer, mailId, at }) => (answer === '250' ? [[mailId, at]] : [])),
  )
  const box = await mails()
  return box.list().map(({ id, headers, text }) => {
    const attached = (box.find(id)?.attachments ?? []).map(({ content }) => Buffer.from(content).toString())
    return {
      messageId: headers['message-id'] ?? '',
      keptAt: Number(id.split('-')[0]),
      answeredAt: answeredAt.get(id) ?? null,
      iccids: iccidsIn([text, ...attached].join('\n')),
    }
  })
}

/** Each mail that came twice: was it within the window in which a sender cannot know? */
function duplicatesOf(kept: readonly KeptMail[], strikes: readonly Strike[]) {
  const early = [...Map.groupBy(kept, ({ messageId }) => messageId).values()].flatMap((copies) =>
    copies.toSorted((a, b) => a.keptAt - b.keptAt).slice(0, -1),
  )
  /** How long before a kill of who commits it was answered; null: nothing was killed then. */
  const beforeKill = ({ answeredAt }: KeptMail): number | null => {
    if (answeredAt === null) return null
    const strike = strikes.find(
      ({ killed, at, backAt }) =>
        (killed === 'worker' || killed === 'PostgreSQL') && answeredAt + COMMIT_MS >= at && answeredAt <= backAt,
    )
    return strike === undefined ? null : strike.at - answeredAt
  }
  const answered = early.filter(({ answeredAt }) => answeredAt !== null)
  return {
    unanswered: early.length - answered.length,
    committing: answered.flatMap((copy) => beforeKill(copy) ?? []),
    outside: answered.filter((copy) => beforeKill(copy) === null),
  }
}

function wrongEnd({ id, status, response }: MailRow, tenant: StormTenant | undefined): string[] {
  const { manner = '' } = tenant ?? {}
  const reason = REASONS[manner]
  const right = reason === undefined ? status === 'sent' : status === 'failed' && reason.response.test(response)
  return right ? [] : [`${id} to ${manner} is ${status}: ${response}`]
}

/** One event for each mail, of its end, with the reason where it was given up. */
async function wrongEvents(rows: Read, mails: readonly MailRow[]): Promise<string[]> {
  const events = await rows<{ tenant: string; sent: boolean; why: string; times: number }>(`
    select tenant_id as tenant, title like 'E-mail sent:%' as sent,
           case when title like 'E-mail given up:%' then regexp_replace(description, '^.*attempts?: (.*)\\.$', '\\1')
                else '' end as why, count(*)::integer as times
      from events where title like 'E-mail %' and tenant_id = any($1) group by 1, 2, 3`)
  const toldOf = new Map(events.map(({ tenant, sent, why, times }) => [`${tenant}/${sent}/${why}`, times]))
  const manner = new Map(
    (
      await rows<{ id: string; email: string }>('select id, billing_email as email from tenants where id = any($1)')
    ).map(({ id, email }) => [id, email.slice(0, email.lastIndexOf('.', email.indexOf('@')))]),
  )
  const wanted = new Map(
    [
      ...Map.groupBy(mails, ({ tenant, status }) =>
        status === 'sent' ? `${tenant}/true/` : `${tenant}/false/${REASONS[manner.get(tenant) ?? '']?.why}`,
      ),
    ].map(([key, { length }]) => [key, length]),
  )
  return [...new Set([...toldOf.keys(), ...wanted.keys()])]
    .filter((key) => toldOf.get(key) !== wanted.get(key))
    .map((key) => `events ${key}: ${toldOf.get(key)}, not ${wanted.get(key)}`)
}

/** Nothing waits, least of all without a row of the work list that has it found. */
async function leftWork(rows: Read): Promise<string[]> {
  const [left] = await rows<{ notices: number; mails: number; orphans: number }>(`
    with notices as (select tenant_id from notifications where mail_id is null and tenant_id = any($1)),
         waiting as (select tenant_id from deliveries where mail_id is not null and status = 'pending' and tenant_id = any($1))
    select (select count(*)::integer from notices) as notices,
           (select count(*)::integer from waiting) as mails,
           (select count(*)::integer from (select tenant_id from notices union select tenant_id from waiting) w
             where not exists (select from mail_work k where k.tenant_id = w.tenant_id)) as orphans`)
  return Object.entries(left ?? {})
    .filter(([, n]) => n > 0)
    .map(([what, n]) => `${n} ${what} left`)
}

/** Message-IDs of the mails that the interface shows as given up. */
async function shownGivenUp(service: Storm['service'], tenants: readonly StormTenant[]): Promise<string[]> {
  const pages = await Promise.all(
    tenants.map(({ id }) => service.call('GET', '/internal/mails?status=failed&pageSize=100', id)),
  )
  return pages.flatMap(({ data }) => data.map(({ id }: { id: string }) => id)).toSorted()
}

/** What was under way at each strike. @param more columns of other things that were, by name */
export function strikesTable<S extends Strike>(
  strikes: readonly S[],
  more: Readonly<Record<string, (strike: S) => number>> = {},
): string {
  return markdown(
    ['killed', 'alerts logged', 'mails accepted', 'mails waiting', ...Object.keys(more), 'away'],
    strikes.map((strike) => [
      strike.killed,
      `${strike.logged} of ${strike.alerts}`,
      strike.kept,
      strike.pending,
      ...Object.values(more).map((cell) => cell(strike)),
      `${((strike.backAt - strike.at) / 1000).toFixed(1)} s`,
    ]),
  )
}

/** What became of all, as Markdown tables. */
export function stormTable({ sentAgain }: Pick<Played, 'sentAgain'>, report: StormReport): string {
  const answered = [...report.answers].toSorted(([a], [b]) => a.localeCompare(b))
  const ends = {
    alerts: report.logged,
    'mails sent': report.sent,
    'given up': report.givenUp,
    'twice, unanswered': report.unanswered,
    'twice, killed before the commit': report.uncommitted,
    'answered before the kill, at most': `${report.longestMs} ms`,
    'to the operator': report.operatorMails,
    'posts sent again': sentAgain,
  }
  return [
    markdown(Object.keys(ends), [Object.values(ends)]),
    markdown(
      answered.map(([answer]) => answer),
      [answered.map(([, n]) => n)],
    ),
  ].join('\n\n')
}
