/** The page of a mail: its text as sent, every attempt, what it is about, and the mails that repeat it. */
import { html } from 'hono/html'
import type { MailAttempt, MailDetail } from '../../../domain/channels/mail.ts'
import { counted } from '../../../domain/quantity.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { ago, facts, instantMark, line, panel, textBox } from '../../parts/marks.ts'
import { subjectLink } from '../alerts/marks.ts'
import { actsOn } from './acts.ts'
import { mailBadge, mailLink, subjectOf } from './marks.ts'

/** @param said notice of an act just before */
export function mailPage(
  tenantId: string,
  mail: MailDetail,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Html {
  const path = `/t/${tenantId}/mails`
  const { id, recipient, attemptLog, body } = mail
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${path}">Mails</a></p>
<h1>${subjectOf(mail)} ${mailBadge(mail)}</h1>
<p class="lead">To <bdi>${recipient}</bdi>, ${course(mail, now)}.</p>
</div>
${actLinks(`${path}/${encodeURIComponent(id)}`, actsOn(mail))}
</div>
${said}
<div class="columns">
<div>
${panel(
  { title: 'Attempts', id: 'attempts', note: 'with the answers of the mail server' },
  attemptLog.length === 0
    ? html`<p class="empty">${mail.attempts === 0 ? 'None yet.' : 'They are no longer stored.'}</p>`
    : html`<ol class="log">${attemptLog.map(attemptLine)}</ol>`,
)}
${panel(
  { title: 'Text', id: 'text', note: 'as sent' },
  body === null ? html`<p class="empty">${NO_BODY}</p>` : textOf(body.text),
)}
</div>
<div>
${panel({ title: 'About', id: 'about' }, about(tenantId, mail))}
${panel({ title: 'Mail', id: 'mail' }, facts(factsOf(tenantId, mail)))}
</div>
</div>`
}

/** Characters of the text. A mail of a night may have hundreds of thousands. */
const MOST_TEXT = 40_000

const textOf = (text: string): Html =>
  html`${textBox('Text of the mail', text.slice(0, MOST_TEXT).toWellFormed())}${text.length > MOST_TEXT ? html`<p class="mute">The rest: <code>simherd mails show</code>.</p>` : ''}`

const NO_BODY = 'What it says is not stored: it was not written yet, or more than 13 months ago.'

const course = ({ status, attempts, sentAt, createdAt }: MailDetail, now: number): Html =>
  status === 'sent'
    ? html`accepted by the mail server ${ago(sentAt, now)}`
    : html`written ${ago(createdAt, now)}, ${status === 'failed' ? 'given up after' : 'not accepted yet after'} ${counted(attempts, 'attempt')}`

const OUTCOMES: Readonly<Record<MailAttempt['outcome'], readonly [IconName, string]>> = {
  delivered: ['active', 'Accepted'],
  later: ['history', 'Not accepted now'],
  refused: ['no', 'The server refuses this mail'],
  gone: ['no', 'The server refuses the address'],
  ours: ['critical', 'The server takes no mail from this service'],
}

function attemptLine({ at, outcome, response, nextAttemptAt }: MailAttempt): Html {
  const [name, words] = OUTCOMES[outcome]
  const next =
    nextAttemptAt !== null
      ? html`, next attempt ${instantMark(nextAttemptAt)}`
      : outcome === 'delivered'
        ? ''
        : ', given up'
  return line(
    name,
    html`${words}${next}${response === null ? '' : html`<small><bdi>${response}</bdi></small>`}`,
    instantMark(at),
  )
}

const about = (tenantId: string, mail: MailDetail): Html =>
  mail.about.length === 0
    ? html`<p class="empty">The tenant.</p>`
    : html`<ul class="log">
${mail.about.map(({ rule, subject }) => {
  const alerts = `/t/${tenantId}/alerts?${new URLSearchParams({ rule }).toString()}`
  return line(
    'bell',
    html`${subjectLink(tenantId, subject)}<small>Rule <a href="${alerts}"><bdi>${rule}</bdi></a></small>`,
  )
})}
</ul>`

function factsOf(tenantId: string, mail: MailDetail): (readonly [string, Html | string])[] {
  const { id, resends, resentAs, copyOf, copies, body } = mail
  const links = (name: string, ids: readonly (string | null)[]) =>
    ids.flatMap((one) => (one === null ? [] : [[name, mailLink(tenantId, one, html`<bdi>${one}</bdi>`)] as const]))
  return [
    ['Message-ID', html`<bdi>${id}</bdi>`],
    ...(body?.attachments ?? []).map(({ filename }) => ['Attachment', html`<bdi>${filename}</bdi>`] as const),
    ...links('Sends again', [resends]),
    ...links('Sent again as', resentAs),
    ...links('Copy of', [copyOf]),
    ...links('Copy', copies),
    ...(body === null ? [] : [['HTML, headers', html`by <code>simherd mails show</code>`] as const]),
  ]
}
