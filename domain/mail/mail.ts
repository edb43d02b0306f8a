/** What mails are and how they stand. */

/**
 * What a mail carries. `cause`: all of one cause. `joined`: several causes. `digest`: all causes, in a storm.
 * `grouped`: what is not critical. `summary`: of a billing cycle. A copy has the kind `copy`, whatever it is a copy of.
 */
export type MailKind = 'cause' | 'joined' | 'digest' | 'grouped' | 'summary'

export type MailStatus = 'pending' | 'sent' | 'failed'
