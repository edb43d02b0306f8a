/** Kinds and states of mails. */

/**
 * The content of a mail. `cause`: notices of one cause. `joined`: several causes. `digest`: all causes, in a storm.
 * `grouped`: notices that can wait. `summary`: of a billing cycle. A copy of any mail has the kind `copy`.
 */
export type MailKind = 'cause' | 'joined' | 'digest' | 'grouped' | 'summary'

export type MailStatus = 'pending' | 'sent' | 'failed'
