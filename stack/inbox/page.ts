/** The inbox as web pages: a list, and one mail. No scripts, and nothing from other hosts. */
import type { InboxMail, StoredMail } from './mails.ts'

/** Escapes text for HTML, attributes included. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const STYLE = `
:root { color-scheme: light dark; --ink: #1b2430; --quiet: #5a6675; --line: #dde2e8; --paper: #fff; --back: #f4f6f8; --mark: #0b6e5f }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaef; --quiet: #9aa6b4; --line: #303946; --paper: #1a212b; --back: #11161d; --mark: #53c9b4 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .25rem; overflow-wrap: anywhere }
h2 { font-size: 1rem; margin: 2rem 0 .5rem }
p { margin: .25rem 0 }
a { color: var(--mark) }
.quiet { color: var(--quiet) }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; overflow: hidden }
ol { list-style: none; margin: 1.25rem 0 0; padding: 0 }
li + li { border-top: 1px solid var(--line) }
li a { display: grid; grid-template-columns: 1fr auto; gap: .1rem 1rem; padding: .75rem 1rem; color: inherit; text-decoration: none }
li a:hover, li a:focus-visible { background: color-mix(in srgb, var(--mark) 9%, transparent) }
li strong, li span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
li .start { grid-column: 1 / -1 }
time { color: var(--quiet); font-variant-numeric: tabular-nums; white-space: nowrap }
.empty { padding: 2.5rem 1rem; margin-top: 1.25rem; text-align: center }
iframe { display: block; width: 100%; height: 30rem; border: 0; background: #fff; resize: vertical }
pre { margin: 0; padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace }
table { width: 100%; border-collapse: collapse; font-size: 13px }
th, td { padding: .35rem 1rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; white-space: pre-line }
th { width: 12rem; color: var(--quiet); font-weight: 500 }
tr + tr > * { border-top: 1px solid var(--line) }
@media (max-width: 40rem) { li a { grid-template-columns: minmax(0, 1fr) } th { width: 8rem } }
summary { cursor: pointer; padding: .6rem 1rem }
`

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body><main>${body}</main></body>
</html>
`
}

/** `2026-11-30T09:15:00.000Z` as `2026-11-30 09:15:00 UTC`. */
const showTime = (iso: string) => `<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`

const subjectOf = (mail: InboxMail) => (mail.subject === '' ? '(no subject)' : mail.subject)

export function listPage(mails: readonly InboxMail[]): string {
  const count = mails.length === 1 ? '1 mail' : `${mails.length} mails`
  const intro = `<h1>Inbox</h1><p class="quiet">${count}, newest first. Nothing here has left this machine.</p>`
  const empty = '<p class="card empty quiet">No mail yet. It appears here as soon as Simherd sends one.</p>'
  const entries = mails.map(
    (mail) => `<li><a href="/mails/${mail.id}">
<strong>${escapeHtml(subjectOf(mail))}</strong>${showTime(mail.date)}
<span class="quiet">to ${escapeHtml(mail.to)}</span>
<span class="quiet start">${escapeHtml(mail.text.replace(/\s+/g, ' ').slice(0, 160))}</span>
</a></li>`,
  )
  const list = mails.length === 0 ? empty : `<ol class="card">${entries.join('\n')}</ol>`
  return page(`Inbox (${mails.length})`, intro + list)
}

export function mailPage({ mail, attachments }: StoredMail): string {
  const base = `/mails/${mail.id}`
  const head = `<p><a href="/">Inbox</a></p>
<h1>${escapeHtml(subjectOf(mail))}</h1>
<p class="quiet">from ${escapeHtml(mail.from)} to ${escapeHtml(mail.to)} · ${showTime(mail.date)}</p>`
  // The mail's own page is isolated from this one: no script, no forms, no access. Its links open in a new window.
  const sandbox = 'allow-popups allow-popups-to-escape-sandbox'
  const html = `<h2>HTML</h2><div class="card"><iframe title="The mail" sandbox="${sandbox}" src="${base}/html"></iframe></div>`
  const files = attachments.map(
    ({ name, type, content }, index) =>
      `<tr><th><a href="${base}/attachments/${index}">${escapeHtml(name)}</a></th><td>${escapeHtml(type)}, ${content.length} bytes</td></tr>`,
  )
  const headers = Object.entries(mail.headers).map(
    ([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  )
  return page(
    subjectOf(mail),
    [
      head,
      mail.html === '' ? '' : html,
      files.length === 0 ? '' : `<h2>Attachments</h2><div class="card"><table>${files.join('')}</table></div>`,
      `<h2>Text</h2><div class="card"><pre>${escapeHtml(mail.text)}</pre></div>`,
      `<h2>Headers</h2><details class="card"><summary>${headers.length} headers</summary><table>${headers.join('')}</table></details>`,
      `<p><a href="${base}/source">Source</a></p>`,
    ].join('\n'),
  )
}
