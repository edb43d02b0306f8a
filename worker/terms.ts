/** Settings, as the operations want them. */
import type { Settings } from '../config/index.ts'
import { durationMs } from '../domain/time/duration.ts'
import type { EvaluationTerms } from '../operations/evaluation.ts'
import type { TicketTerms } from '../operations/execute-tickets.ts'
import { rulesInForce } from '../operations/rules-in-force.ts'
import type { MailTerms } from '../operations/send-mails.ts'
import type { LifecycleTerms } from '../operations/start-workflows.ts'
import type { TicketQuota } from '../operations/ticket-quota.ts'

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
