/**
 * Plays a tenant's time: lets the watchdog, enforcement and mails do due work, instant by instant. On the temporary
 * tables of a replay this repeats the work of the service; a test plays a real month by it.
 */
import type { MailChannel } from '../../adapters/channels/mail/mail-channel.ts'
import { inTenant, type Store } from '../../store/tenancy.ts'
import { type MailOptions, sendMails } from '../channels/send-mails.ts'
import { readsUsage } from '../rules/rules-in-force.ts'
import { evaluateSubjects } from '../watchdog/evaluate-subjects.ts'
import type { EvaluationOptions } from '../watchdog/evaluation-options.ts'
import { sweepSubjects } from '../watchdog/sweep-subjects.ts'
import { type Enforcer, openEnforcer } from './enforcer.ts'
import { nextDueAt } from './rows/due.ts'

/** A store with a clock to set. */
export interface PlayedStore extends Store {
  /** Epoch milliseconds. */
  now: number
}

export interface PlayOptions {
  readonly evaluation: EvaluationOptions
  readonly mailer: MailChannel
}

/** Work still due at an instant after so many rounds waits for a second. */
const MOST_ROUNDS = 50
const SECOND_MS = 1000
/** Mails are accepted at once, so these have no effect. */
const MAILS: MailOptions = { retryMaxMs: SECOND_MS, giveUpAfterMs: SECOND_MS }

export interface Player {
  readonly work: () => Promise<void>
  /** Moves the clock to an instant (epoch milliseconds), and does the work due before it on the way. */
  readonly moveTo: (at: number) => Promise<void>
}

export function openPlayer(store: PlayedStore, tenantId: string, { mailer, ...options }: PlayOptions): Player {
  const evaluation = { asksOnceUnseen: true, ...options.evaluation }
  const enforcer: Enforcer = openEnforcer(store, tenantId, readsUsage(evaluation.rules))

  async function nextAt(): Promise<number> {
    const due = await inTenant(store, tenantId, nextDueAt)
    return Math.min(due?.getTime() ?? Number.POSITIVE_INFINITY, enforcer.nextAt() ?? Number.POSITIVE_INFINITY)
  }

  async function work(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      while (await sweepSubjects(store, evaluation, tenantId));
      await evaluateSubjects(store, evaluation, tenantId)
      const hasChanged = await enforcer.act()
      await sendMails(store, mailer, MAILS, tenantId)
      if (!hasChanged && (await nextAt()) > store.now) return
    }
  }

  return {
    work,
    moveTo: async (at) => {
      for (;;) {
        const next = Math.max(await nextAt(), store.now + 1)
        if (next >= at) break
        store.now = next
        await work()
      }
      store.now = at
    },
  }
}
