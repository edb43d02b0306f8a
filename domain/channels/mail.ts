/** Mails: their kinds, states and fields. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Count, Id, Instant, nullable, oneOf, strictObject, Text } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'
import { OUTCOMES } from './channel.ts'

/**
 * The content of a mail. `cause`: notices of one cause. `joined`: several causes. `digest`: all causes, in a storm.
 * `grouped`: notices that can wait. `summary`: of a billing cycle. A copy of any mail has the kind `copy`.
 */
export type MailKind = 'cause' | 'joined' | 'digest' | 'grouped' | 'summary'

const STATUSES = ['pending', 'sent', 'failed'] as const
export type MailStatus = (typeof STATUSES)[number]

const messageId = (description: string) => Text(description, '<0192f4c1-7d3a-7b52@simherd.example>')

/** A mail in a list. */
export const MailInfo = strictObject({
  id: messageId('Message-ID'),
  recipient: Type.String(),
  subject: Type.String({ description: 'Empty until rendered' }),
  status: oneOf(STATUSES),
  attempts: Count('Number of attempts, since it was last retried by a person'),
  response: nullable(Type.String({ description: 'Last response of the mail server; to keys of tenants null' })),
  createdAt: Instant('Time when its notices were grouped'),
  sentAt: nullable(Instant('Time when the mail server accepted it')),
  keys: Type.Array(Type.String(), {
    description: 'Alert key and kind of each notice in it; in the list of mails the first 100',
  }),
})
export type MailInfo = Static<typeof MailInfo>

const MailAttempt = strictObject({
  at: Instant('Time of the response'),
  outcome: oneOf(
    OUTCOMES,
    'delivered: the server accepted it; later: no response, or one that asks for patience; refused: the server refuses this mail; gone: it refuses the address; ours: it takes no mail from us, until the operator has mended it',
  ),
  response: nullable(Text('Response of the server, or reason for none; to keys of tenants null', '250 OK')),
  nextAttemptAt: nullable(Instant('Next attempt, as planned then; null: it was the last')),
})
export type MailAttempt = Static<typeof MailAttempt>

const MailSubject = strictObject({
  rule: Type.String({ description: 'Name of the rule' }),
  subject: strictObject({
    kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
    id: Count('Id of the SIM, the pool or the tag; 0 for the tenant'),
    label: Text('Its name when the mail was written', 'meter-012'),
  }),
})
export type MailSubject = Static<typeof MailSubject>

const DETAIL = {
  ...MailInfo.properties,
  attemptLog: Type.Array(MailAttempt, {
    description: 'Its newest 50 attempts, oldest first; they are stored as long as its content',
  }),
  about: Type.Array(MailSubject, {
    description: 'Rules and subjects of its notices, or of those of the mail that it repeats: the first 50',
  }),
  resends: nullable(messageId('Message-ID of the original mail, if sent again')),
  resentAs: Type.Array(messageId('Message-ID'), { description: 'Mails that send it again, the newest 50' }),
  copyOf: nullable(messageId('Message-ID of the mail that it is a copy of')),
  copies: Type.Array(messageId('Message-ID'), { description: 'Its copies' }),
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
      attemptLog: [
        { at: '2026-11-20T12:00:31.000Z', outcome: 'delivered' as const, response: '250 OK', nextAttemptAt: null },
      ],
      about: [{ rule: 'sim-overage', subject: { kind: 'sim' as const, id: 12, label: 'meter-012' } }],
      resends: null,
      resentAs: [],
      copyOf: null,
      copies: [],
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
  simId: Type.Optional(Id('Only mails with a notice about this SIM')),
  poolId: Type.Optional(Id('Only mails with a notice about this pool itself, without its SIMs')),
  alert: Type.Optional(Id('Only mails with a notice of this alert')),
  ...pageQuery,
})
export type MailQuery = Static<typeof MailQuery>
