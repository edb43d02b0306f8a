/** Sends the mails that sign in contacts. At least once, as others, but only while they can be used. */
import type { Mail } from '../../adapters/channels/mail/render-mail.ts'
import type { SignInNotice } from '../../adapters/channels/mail/render-sign-in-mail.ts'
import type { Channel } from '../../domain/channels/channel.ts'
import { mailRetries } from '../../domain/channels/retry.ts'
import { LINK_MS } from '../../domain/tenants/session.ts'
import { codeOf, sealSignIn } from '../../domain/tenants/sign-in-mail.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { deliver, type Outbox } from './deliver.ts'
import { linkKey } from './rows/link-key.ts'
import { type ClaimedSignIn, claimSignIns, noteSignInDelivery } from './rows/sign-in-mails.ts'

export interface SignInChannel extends Pick<Channel<never, string, Mail>, 'send'> {
  readonly render: (notice: SignInNotice) => Mail
}

const MOST_AT_ONCE = 10
/** Longest pause between attempts. */
const RETRY_MAX_MS = 60_000

/** Sends what is due. Safe to run anywhere, at any time. */
export async function sendSignIns(store: Store, { render, send }: SignInChannel): Promise<void> {
  const outbox: Outbox<PlatformTx, ClaimedSignIn> = {
    within: (work) => inPlatform(store, work),
    retries: mailRetries({ retryMaxMs: RETRY_MAX_MS, giveUpAfterMs: LINK_MS }),
    claim: (tx, leaseUntil) => claimSignIns(tx, leaseUntil, MOST_AT_ONCE),
    send: async ({ id, contact, createdAt, ...notice }) => {
      const key = await inPlatform(store, linkKey)
      const url = `${notice.consoleUrl}/sign-in/mail/${sealSignIn(key, id)}`
      const until = new Date(createdAt.getTime() + LINK_MS)
      return send(render({ ...notice, url, code: codeOf(key, id), until }), contact, messageId(id, createdAt))
    },
    settle: async (tx, { id }, result) => {
      await noteSignInDelivery(tx, id, result)
      return undefined
    },
  }
  await deliver(store, outbox)
}

const messageId = (id: number, createdAt: Date): string => `<sign-in-${id}-${createdAt.getTime()}@simherd>`
