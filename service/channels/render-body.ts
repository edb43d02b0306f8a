/** Renders the text of a mail, and completes it when it is sent. */
import { stringify } from 'csv-stringify/sync'
import type { MailChannel } from '../../adapters/channels/mail/mail-channel.ts'
import type { Mail, MailAttachment } from '../../adapters/channels/mail/render-mail.ts'
import { LogLevel, labelOf } from '../../domain/codes.ts'
import { CSV_FORMAT, neutralised } from '../../domain/files/spreadsheet.ts'
import { MOST_SUBJECTS, NOTICES_FILE } from '../../domain/notifications/cause.ts'
import type { AlertNotification, Notification, SummaryNotification } from '../../domain/notifications/notification.ts'
import { storable } from '../../domain/text.ts'
import type { StoredNotification } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { pageOfLines, statementTotals } from '../month-end/rows/statements.ts'
import { statementCsv } from '../month-end/statement-csv.ts'
import { tenantSettings } from '../usage/rows/cycles.ts'
import type { MailBody, StoredAttachment } from './rows/bodies.ts'

export type Render = MailChannel['render']

/** The text of a mail, or the error that prevented it. */
export type Rendering = { readonly body: MailBody } | { readonly error: unknown }

/** The most statement lines attached to a mail: about three megabytes, a size that mail servers accept. */
const MOST_ATTACHED = 20_000

export const idsOf = (parts: readonly StoredNotification[]): number[] => parts.map(({ id }) => id)

/**
 * Renders notifications that share a mail. If some cannot be rendered and the others can, `faulty` has those left out,
 * else none.
 */
export async function renderBody(tx: TenantTx, render: Render, parts: readonly StoredNotification[]) {
  const complete = await Promise.all(
    parts.map(async ({ id, body }) => ({ id, body: body.kind === 'summary' ? await withStatement(tx, body) : body })),
  )
  const whole = attempt(render, complete)
  const faulty = 'body' in whole ? [] : complete.filter((part) => 'error' in attempt(render, [part]))
  if (faulty.length === 0 || faulty.length === complete.length) return { rendered: whole, good: complete, faulty: [] }
  const good = complete.filter((part) => !faulty.includes(part))
  return { rendered: attempt(render, good), good, faulty }
}

/**
 * Notes that a summary has its statement with it: only the lines of pools, if there are more than `MOST_ATTACHED`. The
 * lines themselves are read when the mail is sent.
 */
async function withStatement(tx: TenantTx, summary: SummaryNotification): Promise<SummaryNotification> {
  const { key } = summary.cycle
  const { lines = 0 } = (await statementTotals(tx, key)) ?? {}
  if (lines <= MOST_ATTACHED) return { ...summary, statementCsv: '' }
  const pools = (await pageOfLines(tx, key, { kinds: ['pool'], afterLine: 0, limit: MOST_ATTACHED })).lines.length
  return { ...summary, statementCsv: '', statementLinesLeftOut: lines - pools }
}

function attempt(render: Render, parts: readonly StoredNotification[]): Rendering {
  const notifications = parts.map(({ body }) => body)
  try {
    return { body: bodyOf(render(notifications), notifications) }
  } catch (error) {
    return { error }
  }
}

function bodyOf(mail: Mail, notifications: readonly Notification[]): MailBody {
  const summaries = notifications.filter((one) => one.kind === 'summary')
  const alerts = notifications.filter((one) => one.kind !== 'summary')
  const statements = (mail.attachments ?? []).map(({ filename, contentType }, n): StoredAttachment => {
    const { cycle, statementLinesLeftOut } = summaries[n] ?? {}
    const kinds = statementLinesLeftOut === undefined ? null : (['pool'] as const)
    return { filename, contentType, statement: { cycle: cycle?.key ?? '', kinds } }
  })
  const csv: StoredAttachment[] =
    alerts.length > MOST_SUBJECTS
      ? [{ filename: NOTICES_FILE, contentType: 'text/csv; charset=utf-8', content: storable(noticesCsv(alerts)) }]
      : []
  return {
    subject: storable(mail.subject),
    text: storable(mail.text),
    html: storable(mail.html),
    headers: mail.headers,
    attachments: [...statements, ...csv],
  }
}

/** The notices of a mail as CSV for spreadsheets, with a header and a byte order mark. */
export const noticesCsv = (notices: readonly AlertNotification[]): string =>
  stringify(notices.map(rowOf), { ...CSV_FORMAT, header: true, cast: { string: neutralised }, bom: true })

/** The columns of the file, in order. Add new ones at the end. */
const rowOf = (told: AlertNotification) => ({
  at: told.at,
  rule: told.rule.name,
  what: told.kind,
  level: labelOf(LogLevel, told.level),
  subject: told.subject.kind,
  id: told.subject.id,
  name: told.subject.label,
  pool: told.poolName ?? (told.subject.kind === 'pool' ? told.subject.label : ''),
  usageMB: told.facts.usageMB ?? '',
  limitMB: told.facts.limitMB ?? '',
  overageMB: told.facts.overageMB ?? '',
  since: told.since,
  message: told.message,
})

/** The attachments of a stored mail, with their content. */
export const attachmentsOf = (tx: TenantTx, { attachments }: MailBody): Promise<MailAttachment[]> =>
  Promise.all(
    attachments.map(async ({ filename, contentType, content, statement }) => ({
      filename,
      contentType,
      content: content ?? (statement === undefined ? '' : await statementOf(tx, statement)),
    })),
  )

async function statementOf(tx: TenantTx, { cycle, kinds }: NonNullable<StoredAttachment['statement']>) {
  const { lines } = await pageOfLines(tx, cycle, { ...(kinds && { kinds }), afterLine: 0, limit: MOST_ATTACHED })
  return statementCsv(lines, (await tenantSettings(tx)).currency)
}
