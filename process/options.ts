/** Converts the settings to options of `service/`. */

import type { EndpointOptions } from '../domain/channels/channel.ts'
import { parseNetworks } from '../domain/networks.ts'
import type { WorkflowOptions } from '../domain/temporal/start.ts'
import { durationMs } from '../domain/time/duration.ts'
import { parseSecretsKeys } from '../service/channels/secrets.ts'
import type { MailOptions } from '../service/channels/send-mails.ts'
import type { OperatorMailOptions } from '../service/channels/tell-operator.ts'
import { rulesInForce } from '../service/rules/rules-in-force.ts'
import type { TicketOptions } from '../service/tickets/execute-tickets.ts'
import type { TicketQuota } from '../service/tickets/open-ticket.ts'
import type { EvaluationOptions } from '../service/watchdog/evaluation-options.ts'
import type { Settings } from './settings.ts'

export const ticketOptions = (settings: Settings): TicketOptions => ({
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

export const mailOptions = (settings: Settings): MailOptions => ({
  retryMaxMs: durationMs(settings.MAIL_RETRY_MAX),
  giveUpAfterMs: durationMs(settings.MAIL_GIVE_UP_AFTER),
})

export const endpointOptions = (settings: Settings): EndpointOptions => ({
  secretsKeys: parseSecretsKeys(settings.WEBHOOK_SECRETS_KEY) ?? [],
  allow: parseNetworks(settings.WEBHOOK_ALLOW) ?? [],
})

/** Null: the operator gets no notices. */
export const operatorMailOptions = (settings: Settings): OperatorMailOptions | null =>
  settings.OPERATOR_EMAIL === '' ? null : { ...mailOptions(settings), recipient: settings.OPERATOR_EMAIL }

export const workflowOptions = (settings: Settings): WorkflowOptions => ({ closeAfter: settings.CLOSE_AFTER })

/** Call once per process: it keeps the rules in force loaded. */
export const evaluationOptions = (settings: Settings): Omit<EvaluationOptions, 'onFailed'> => ({
  rules: rulesInForce(),
  groupFirstMs: durationMs(settings.MAIL_GROUP_FIRST),
  groupNextMs: durationMs(settings.MAIL_GROUP_NEXT),
})

/** Database address for work that needs a separate connection. */
export const directUrl = (settings: Pick<Settings, 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>): string =>
  settings.DATABASE_DIRECT_URL || settings.DATABASE_URL
