import { ServiceError } from '../../domain/errors.ts'
import type { RotateKey, WithSecret } from '../../domain/tenants/tenant.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { type HeldKey, lockKey, markReplaced } from '../../store/tenants/keys.ts'
import { issueKey } from './create-key.ts'

/** Long enough to bring the new key to whoever uses the old one, short enough to be over the same day. */
const DEFAULT_OVERLAP = 'PT1H'
/** Two keys alive for longer than this are two keys, not one that is being rotated. */
const LONGEST_OVERLAP_MS = 30 * 86_400_000

/**
 * Makes a key with the name, scopes and expiry of another, which goes on working for a while and then no more.
 *
 * The old key never lives longer by it. It is rotated once: whoever wants a further key rotates the new one.
 *
 * @param tenantId whose key it is; null: the platform's
 * @returns the new key; the answer is the only place its secret is ever seen
 * @throws ServiceError `key_not_found`; `key_not_active` where it was revoked, rotated or has expired
 */
export async function rotateKey(
  tx: PlatformTx,
  tenantId: string | null,
  id: string,
  { expireOldAfter }: RotateKey,
): Promise<WithSecret> {
  const overlapMs = durationMs(expireOldAfter ?? DEFAULT_OVERLAP)
  if (overlapMs > LONGEST_OVERLAP_MS) {
    const detail = 'must be at most P30D'
    throw new ServiceError('invalid_request', `/expireOldAfter: ${detail}, got ${expireOldAfter}`, {
      errors: [{ pointer: '/expireOldAfter', detail }],
    })
  }
  const old = await lockKey(tx, tenantId, id)
  if (old === undefined) throw new ServiceError('key_not_found', `There is no API key ${id}.`)
  const over = whyOver(old, tx.now)
  if (over !== undefined) throw new ServiceError('key_not_active', `API key ${id} ${over}.`)
  const made = await issueKey(tx, tenantId, old, id)
  const overlapEnds = new Date(tx.now.getTime() + overlapMs)
  const expiresAt = old.expiresAt !== null && old.expiresAt < overlapEnds ? old.expiresAt : overlapEnds
  await markReplaced(tx, id, made.id, expiresAt)
  await noteChange(tx, {
    subject: 'key',
    id,
    tenantId,
    before: { expiresAt: old.expiresAt, replacedBy: null },
    after: { expiresAt, replacedBy: made.id },
  })
  return made
}

/** Why a key cannot be rotated. */
function whyOver({ revokedAt, replacedBy, expiresAt }: HeldKey, now: Date): string | undefined {
  if (revokedAt !== null) return `was revoked at ${revokedAt.toISOString()}`
  if (replacedBy !== null) return `was rotated already: rotate ${replacedBy}, which took its place`
  if (expiresAt !== null && expiresAt <= now) return `expired at ${expiresAt.toISOString()}`
  return undefined
}
