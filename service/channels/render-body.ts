/** Renders the text of a mail, and completes it when it is sent. */
import type { MailChannel } from '../../adapters/channels/mail/mail-channel.ts'
import type { Mail, MailAttachment } from '../../adapters/channels/mail/render-mail.ts'
import { MOST_SUBJECTS, NOTICES_FILE } from '../../domain/notifications/cause.ts'
import type { Notification, SummaryNotification } from '../../domain/notifications/notification.ts'
import { storable } from '../../domain/text.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { pageOfLines, statementTotals } from '../month-end/rows/statements.ts'
import { statementCsv } from '../month-end/statement-csv.ts'
import { noticesCsv } from './notices-csv.ts'
import type { MailBody, StoredAttachment } from './rows/bodies.ts'

export type Render = MailChannel['render']

/** The text of a mail, or the error that prevented it. */
export type Rendering = { readonly body: MailBody } | { readonly error: unknown }

/** The most statement lines attached to a mail: about three megabytes, a size that mail servers accept. */
const MOST_ATTACHED = 20_000

/**
 * Renders notifications that share a mail. If some cannot be rendered, the others can, and `faulty` lists those left
 * out.
 */
export async function renderBody(
  tx: TenantTx,
  render: Render,
  notifications: readonly Notification[],
): Promise<{ readonly rendered: Rendering; readonly faulty: readonly boolean[] }> {
  const complete = await Promise.all(
    notifications.map(async (one) => (one.kind === 'summary' ? withStatement(tx, one) : one)),
  )
  const none = complete.map(() => false)
  const whole = attempt(render, complete)
  if ('body' in whole) return { rendered: whole, faulty: none }
  const faulty = complete.map((one) => 'error' in attempt(render, [one]))
  const left = complete.filter((_, n) => faulty[n] === false)
  if (left.length === 0 || left.length === complete.length) return { rendered: whole, faulty: none }
  return { rendered: attempt(render, left), faulty }
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

function attempt(render: Render, notifications: readonly Notification[]): Rendering {
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
  return statementCsv(lines)
}
