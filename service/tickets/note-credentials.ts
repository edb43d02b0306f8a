/**
 * Notes whether the carrier accepts our credentials, for all workers with the same credentials, and notifies people.
 *
 * Tenants get an event of the platform, because tickets of every tenant wait: it names the wait, and that no ticket is
 * lost. The operator gets a mail with the carrier's answer and the remedy.
 */
import { EventSeverity, EventType } from '../../domain/codes.ts'
import {
  afterAcceptance,
  afterRefusal,
  afterSilentProbe,
  type CarrierRefusal,
  isRefusalReported,
  isRefused,
  type RefusedTickets,
} from '../../domain/tickets/carrier-refusal.ts'
import { insertEvents } from '../../store/events.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { lockCarrierRefusal, readCarrierRefusals, saveCarrierRefusal } from './rows/carrier-refusals.ts'

/** Another credential without a probe for so long is no longer in use by any worker. Milliseconds. */
const REPLACED_AFTER_MS = 60_000

/** Notes that the carrier refuses a credential. @param answer the carrier's words, for the operator */
export const noteRefusedCredentials = (
  store: Store,
  credential: string,
  refused: RefusedTickets & { readonly answer: string },
): Promise<void> =>
  inPlatform(store, async (tx) => {
    const { next, tells } = afterRefusal(await lockCarrierRefusal(tx, credential), refused, tx.now)
    await saveCarrierRefusal(tx, credential, next)
    if (!tells) return
    await insertEvents(tx, [
      {
        type: EventType.Connectivity,
        severity: EventSeverity.Critical,
        title: 'The carrier cannot be asked',
        description: `Since ${next.since.toISOString()} the carrier takes no requests of this service. Tickets wait, and go on by themselves as soon as it does.`,
      },
    ])
    const since = next.since.toISOString()
    const body = { kind: 'carrierRefuses', since, answer: refused.answer } as const
    await insertOperatorNotices(tx, [{ key: `carrier-refuses/${credential}/${since}`, body }])
  })

/** Notes the answer to a probe, unless refused. @param isAccepted false: no verdict on the credential */
export const noteProbe = (store: Store, credential: string, isAccepted: boolean): Promise<void> =>
  inPlatform(store, async (tx) => {
    const before = await lockCarrierRefusal(tx, credential)
    if (!isRefused(before)) return
    if (isAccepted) await end(tx, credential, before)
    else await saveCarrierRefusal(tx, credential, afterSilentProbe(before, tx.now))
  })

/** Notes that the carrier accepts a credential while others are refused: credentials of ended workers are forgotten. */
export const noteReplacedCredentials = (store: Store, credential: string): Promise<void> =>
  inPlatform(store, async (tx) => {
    const others = [...(await readCarrierRefusals(tx)).keys()].filter((other) => other !== credential).toSorted()
    for (const other of others) {
      const before = await lockCarrierRefusal(tx, other)
      const isReplaced = before.probeAt.getTime() <= tx.now.getTime() - REPLACED_AFTER_MS
      if (isRefused(before) && isReplaced) await end(tx, other, before)
    }
  })

async function end(tx: PlatformTx, credential: string, before: CarrierRefusal): Promise<void> {
  await saveCarrierRefusal(tx, credential, afterAcceptance(before, tx.now))
  if (!isRefusalReported(before)) return
  await insertEvents(tx, [
    {
      type: EventType.Connectivity,
      severity: EventSeverity.Info,
      title: 'The carrier can be asked again',
      description: `The carrier takes requests of this service again. Tickets that waited since ${before.since.toISOString()} go on.`,
    },
  ])
}
