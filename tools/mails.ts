/**
 * Writes every kind of mail as files to look at: `node tools/mails.ts <folder>`. Each is `.html`, `.txt` and `.subject`, and
 * an `index.html` shows their subjects. The notices are those of the tests.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Mail, renderMail } from '../adapters/channels/mail/render-mail.ts'
import { renderOperatorMail } from '../adapters/channels/mail/render-operator-mail.ts'
import { renderSignInMail } from '../adapters/channels/mail/render-sign-in-mail.ts'
import { EVERY_KIND, OPERATOR_NOTICES } from '../test/unit/channels/every-kind.ts'
import { MAIL_LINKS, SIGN_IN } from '../test/unit/channels/notifications.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node tools/mails.ts <folder>')

const mails: readonly (readonly [name: string, mail: Mail])[] = [
  ...Object.entries(EVERY_KIND).map(([name, notices]) => [name, renderMail(notices, MAIL_LINKS)] as const),
  // Without a public address, and to an address that gets copies.
  ['without-links', renderMail(EVERY_KIND['alert-sim-monitored'] ?? [])],
  ['copy', renderMail(EVERY_KIND['alert-sim-warning'] ?? [], MAIL_LINKS, true)],
  ...OPERATOR_NOTICES.map((notice) => [`operator-${notice.body.kind}`, renderOperatorMail([notice])] as const),
  ['sign-in', renderSignInMail(SIGN_IN)],
  ['operator-all', renderOperatorMail(OPERATOR_NOTICES)],
]

await mkdir(folder, { recursive: true })
for (const [name, { subject, html, text }] of mails) {
  const write = (ending: string, content: string) => writeFile(join(folder, `${name}.${ending}`), content)
  await Promise.all([write('html', html), write('txt', text), write('subject', `${subject}\n`)])
}
process.stdout.write(`${mails.map(([name, { subject }]) => `${name.padEnd(24)} ${subject}`).join('\n')}\n`)
