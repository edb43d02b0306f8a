/**
 * Notes whether the carrier accepts our credentials, for all workers that have the same, and tells people.
 *
 * Tenants are told by an event of the platform, because tickets of each of them wait: that they do, and that nothing is
 * lost. The operator is told by mail what the carrier said and what to mend.
 */
import { EventSeverity, EventType } from '../../domain/codes.ts'
import {
  afterAcceptance,
  afterRefusal,
  afterSilentProbe,
  type CarrierRefusal,
  isRefused,
  isTold,
  type RefusedTickets,
} from '../../domain/tickets/carrier-refusal.ts'
import { insertEvents } from '../../store/events.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { lockCarrierRefusal, readCarrierRefusals, saveCarrierRefusal } from '../../store/tickets/carrier-refusals.ts'

/** Another credential that has not been probed for so long is no worker's any more. Milliseconds. */
const REPLACED_AFTER_MS = 60_000

/** Notes that the carrier refuses a credential. @param answer what it said, for the operator */
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

/** Notes the answer to a probe that was not refused. @param isAccepted false: it says nothing of the credential */
export const noteProbe = (store: Store, credential: string, isAccepted: boolean): Promise<void> =>
  inPlatform(store, async (tx) => {
    const before = await lockCarrierRefusal(tx, credential)
    if (!isRefused(before)) return
    if (isAccepted) await end(tx, credential, before)
    else await saveCarrierRefusal(tx, credential, afterSilentProbe(before, tx.now))
  })

/** Notes that the carrier accepts a credential while others are refused: those of workers that have ended are forgotten. */
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
  if (!isTold(before)) return
  await insertEvents(tx, [
    {
      type: EventType.Connectivity,
      severity: EventSeverity.Info,
      title: 'The carrier can be asked again',
      description: `The carrier takes requests of this service again. Tickets that waited since ${before.since.toISOString()} go on.`,
    },
  ])
}
