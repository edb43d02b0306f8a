/** Mails: their kinds, states and fields. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Instant, nullable, oneOf, strictObject, Text } from '../schema.ts'

/**
 * The content of a mail. `cause`: notices of one cause. `joined`: several causes. `digest`: all causes, in a storm.
 * `grouped`: notices that can wait. `summary`: of a billing cycle. A copy of any mail has the kind `copy`.
 */
export type MailKind = 'cause' | 'joined' | 'digest' | 'grouped' | 'summary'

const STATUSES = ['pending', 'sent', 'failed'] as const
export type MailStatus = (typeof STATUSES)[number]

/** A mail in a list. */
export const MailInfo = strictObject({
  id: Text('Message-ID', '<0192f4c1-7d3a-7b52@simherd.example>'),
  recipient: Type.String(),
  subject: Type.String({ description: 'Empty until rendered' }),
  status: oneOf(STATUSES),
  attempts: Type.Integer({ minimum: 0 }),
  response: nullable(Type.String({ description: 'Last response of the mail server' })),
  createdAt: Instant('Time when its notices were grouped'),
  sentAt: nullable(Instant('Time when the mail server accepted it')),
  keys: Type.Array(Type.String(), {
    description: 'Alert key and kind of each notice in it; in the list of mails the first 100',
  }),
})
export type MailInfo = Static<typeof MailInfo>

const DETAIL = {
  ...MailInfo.properties,
  resends: nullable(Text('Message-ID of the original mail, if sent again', '<0192f4c1-7d3a-7b52@simherd.example>')),
  body: nullable(
    strictObject(
      {
        text: Type.String({ description: 'Its plain text part' }),
        html: Type.String({ description: 'Its HTML part' }),
        headers: Type.Record(Type.String(), Type.String(), {
          description: 'Headers by name, except From, To, Subject, Date and Message-ID',
        }),
        attachments: Type.Array(
          strictObject({
            filename: Text('File name', 'statement-2026-11.csv'),
            contentType: Text('Media type', 'text/csv; charset=utf-8'),
          }),
        ),
      },
      { description: 'Content as sent; null if not rendered yet, or no longer stored' },
    ),
  ),
}
/** A mail with its body. */
export const MailDetail = strictObject(DETAIL, {
  examples: [
    {
      id: '<0192f4c1-7d3a-7b52@simherd.example>',
      recipient: 'billing@meadow.example',
      subject: 'meter-012 over its limit (100.18 of 100 MB): suspended',
      status: 'sent',
      attempts: 1,
      response: '250 OK',
      createdAt: '2026-11-20T12:00:30.000Z',
      sentAt: '2026-11-20T12:00:31.000Z',
      keys: ['sim-overage/sim/12/2026-11/fired'],
      resends: null,
      body: {
        text: 'Critical: meter-012 is 180 kB over its limit',
        html: '<p>Critical: meter-012 is 180 kB over its limit</p>',
        headers: { 'Auto-Submitted': 'auto-generated' },
        attachments: [],
      },
    },
  ],
})
export type MailDetail = Static<typeof MailDetail>

export const MailQuery = Type.Object({
  status: Type.Optional(oneOf(STATUSES, 'Only mails in this state; failed: given up')),
  ...pageQuery,
})
export type MailQuery = Static<typeof MailQuery>
