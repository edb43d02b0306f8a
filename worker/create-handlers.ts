/** The job of each queue: one line for each function of `service/`. */

import type { Network } from '../adapters/carrier/network.ts'
import type { MailChannel } from '../adapters/channels/mail/mail-channel.ts'
import type { Handlers } from '../adapters/queues/backend.ts'
import type { EndpointChannels } from '../domain/channels/channel.ts'
import type { Job, QueueName } from '../domain/jobs.ts'
import { type MailOptions, sendMails } from '../service/channels/send-mails.ts'
import { type SendOptions, sendWebhooks } from '../service/channels/send-webhooks.ts'
import { executeTickets, type TicketOptions } from '../service/tickets/execute-tickets.ts'
import { openBulkTickets } from '../service/tickets/open-bulk-tickets.ts'
import { evaluateSubjects } from '../service/watchdog/evaluate-subjects.ts'
import type { EvaluationOptions } from '../service/watchdog/evaluation-options.ts'
import { sweepSubjects } from '../service/watchdog/sweep-subjects.ts'
import { carryOutWorkflowRequests, type WorkflowDoor } from '../service/workflows/carry-out-workflow-requests.ts'
import type { FailedRun } from '../service/workflows/failed-run.ts'
import { type Store, withLongTimeout } from '../store/tenancy.ts'

/** A tenant's turn. After it, others have theirs. */
const TURN_MS = 200

export interface HandlerOptions {
  readonly store: Store
  readonly network: Network
  readonly mailer: MailChannel
  readonly door: WorkflowDoor
  readonly tickets: TicketOptions
  readonly evaluation: EvaluationOptions
  readonly mails: MailOptions
  readonly endpointChannels: EndpointChannels
  readonly webhooks: SendOptions
  /** Enqueues jobs, and resolves when all are in the queue. */
  readonly add: (jobs: readonly Job[]) => Promise<void>
  readonly onRequestFailed: (workflowId: string, error: unknown) => void
  /** Called when a start meets a failed run of the cycle. */
  readonly onFailedRun: (met: FailedRun) => void
  readonly observe: (queue: QueueName, outcome: 'done' | 'failed', ms: number) => void
}

export function createHandlers(options: HandlerOptions): Handlers {
  const { store, network, mailer, door, observe } = options
  /** Measures the duration of a job. A failure goes on to the queue. */
  const measured =
    <J extends { readonly queue: QueueName }>(handle: (job: J) => Promise<void>) =>
    async (job: J) => {
      const began = performance.now()
      let outcome: 'done' | 'failed' = 'failed'
      try {
        await handle(job)
        outcome = 'done'
      } finally {
        observe(job.queue, outcome, performance.now() - began)
      }
    }
  return {
    tickets: measured(({ tenantId }) => executeTickets(store, network, options.tickets, tenantId)),
    bulk: measured(({ tenantId }) => openBulkTickets(withLongTimeout(store), options.add, tenantId)),
    evaluate: measured(async ({ tenantId }) => {
      const isLeft = await evaluateSubjects(store, options.evaluation, tenantId, TURN_MS)
      if (isLeft) await options.add([{ queue: 'evaluate', tenantId }])
    }),
    sweep: measured(async ({ tenantId }) => {
      const isLeft = await sweepSubjects(store, options.evaluation, tenantId)
      if (isLeft) await options.add([{ queue: 'sweep', tenantId }])
    }),
    mail: measured(({ tenantId }) => sendMails(store, mailer, options.mails, tenantId)),
    workflows: measured(() => carryOutWorkflowRequests(store, door, options)),
    webhooks: measured(async ({ tenantId, webhookId }) => {
      const job = { tenantId, webhookId }
      const isLeft = await sendWebhooks(store, options.endpointChannels, options.webhooks, job)
      if (isLeft) await options.add([{ queue: 'webhooks', ...job }])
    }),
  }
}
