/** `simherd mails …`: a tenant's mails and their delivery. */

import { idempotent } from '../../adapters/rest/client.ts'
import type { MailAttempt } from '../../domain/channels/mail.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { forTenant, forTenantOn } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { isJson, type OutputFlags, printAnswer, printJson } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { moreLines, table } from '../table.ts'

/** Most lines of the list. */
const SHOWN = 50

interface MailFlags extends TenantFlags, OutputFlags {
  readonly status?: 'pending' | 'sent' | 'failed'
  readonly sim?: number
  readonly pool?: number
  readonly alert?: number
}

/** Lists mails, the newest first. */
export const listMails = forTenant(async (service, flags: MailFlags) => {
  const { status, sim: simId, pool: poolId, alert } = flags
  const query = { page: 1, pageSize: SHOWN, ...dropUndefined({ status, simId, poolId, alert }) }
  const found = await responseOf(service.GET('/internal/mails', { params: { query } }))
  printAnswer(flags, found, ({ data, pagination }) => {
    if (data.length === 0) return ['there is no such mail']
    const rows = data.map((mail) => [
      mail.id,
      mail.status,
      mail.attempts,
      at(mail.sentAt ?? mail.createdAt),
      mail.recipient,
      mail.status === 'sent' ? mail.subject : (mail.response ?? mail.subject),
    ])
    return [
      ...table(['mail', 'status', 'attempts', 'at', 'to', 'what'], rows),
      ...moreLines(pagination.totalItems, data.length, 'older'),
    ]
  })
})

/** Retries a mail after its attempts were given up. */
export const retryMail = forTenantOn(async (service, id: string) => {
  const params = { path: { id }, ...idempotent() }
  await responseOf(service.POST('/internal/mails/{id}/retry', { params }))
  print(`mail ${id} is tried again, at the tenant's present billing address`)
})

interface ShowFlags extends TenantFlags, OutputFlags {
  readonly html?: boolean
}

/** Shows a mail in the form sent. */
export const showMail = forTenantOn(async (service, id: string, { html = false, ...flags }: ShowFlags) => {
  const params = { path: { id } }
  const mail = await responseOf(service.GET('/internal/mails/{id}', { params }))
  if (isJson(flags)) return printJson(mail)
  const { body } = mail
  if (html) return print(body?.html ?? 'what it says is not stored')
  const headers = { 'Message-ID': mail.id, To: mail.recipient, Subject: mail.subject, ...body?.headers }
  for (const [name, value] of Object.entries(headers)) print(`${name}: ${value}`)
  for (const { filename, contentType } of body?.attachments ?? []) print(`Attachment: ${filename} (${contentType})`)
  print(
    `Status: ${mail.status}, ${at(mail.sentAt ?? mail.createdAt)}${mail.resends === null ? '' : `, sends ${mail.resends} again`}`,
  )
  for (const attempt of mail.attemptLog) print(`Attempt: ${attemptWords(attempt)}`)
  print('')
  print(body?.text ?? 'what it says is not stored')
})

const attemptWords = ({ at: when, outcome, response, nextAttemptAt }: MailAttempt): string =>
  [
    `${at(when)}, ${outcome}${nextAttemptAt === null ? '' : `, next ${at(nextAttemptAt)}`}`,
    ...(response === null ? [] : [response]),
  ].join(': ')

/** Sends a mail again, unchanged. */
export const resendMail = forTenantOn(async (service, id: string) => {
  const params = { path: { id }, ...idempotent() }
  const { id: newId } = await responseOf(service.POST('/internal/mails/{id}/resend', { params }))
  print(`mail ${id} is sent again as ${newId}, to the tenant's present billing address`)
})
