/** Settings, as the operations want them. */
import type { Settings } from '../config/index.ts'
import { durationMs } from '../domain/time/duration.ts'
import type { MailTerms } from '../operations/mail/send-mails.ts'
import type { TicketTerms } from '../operations/tickets/execute-tickets.ts'
import type { TicketQuota } from '../operations/tickets/quota.ts'
import type { EvaluationTerms } from '../operations/watchdog/evaluation.ts'
import { rulesInForce } from '../operations/watchdog/rules-in-force.ts'
import type { LifecycleTerms } from '../operations/workflows/inputs.ts'

export const ticketTerms = (settings: Settings): TicketTerms => ({
  leaseMs: durationMs(settings.TICKET_LEASE),
  retryMinMs: durationMs(settings.TICKET_RETRY_MIN),
  retryMaxMs: durationMs(settings.TICKET_RETRY_MAX),
  attempts: settings.TICKET_ATTEMPTS,
  patienceMs: durationMs(settings.SMS_PATIENCE),
})

export const ticketQuota = (settings: Settings): TicketQuota => ({
  perSim: settings.TICKETS_PER_SIM,
  smsPerSim: settings.SMS_PER_SIM,
  perTenant: settings.TICKETS_PER_TENANT,
})

export const mailTerms = (settings: Settings): MailTerms => ({
  retryMaxMs: durationMs(settings.MAIL_RETRY_MAX),
  attempts: settings.MAIL_ATTEMPTS,
})

export const lifecycleTerms = (settings: Settings): LifecycleTerms => ({
  waits: { pollMin: settings.POLL_MIN, pollMax: settings.POLL_MAX },
  closeAfter: settings.CLOSE_AFTER,
})

/** Once a process: it keeps the rules in force loaded. */
export const evaluationTerms = (settings: Settings): Omit<EvaluationTerms, 'onFailed'> => ({
  ...lifecycleTerms(settings),
  rules: rulesInForce(),
  groupFirstMs: durationMs(settings.MAIL_GROUP_FIRST),
  groupNextMs: durationMs(settings.MAIL_GROUP_NEXT),
})
