import { ServiceError } from '../../domain/errors.ts'
import type { RotateKey, WithSecret } from '../../domain/tenants/tenant.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { issueKey } from './create-key.ts'
import { type HeldKey, lockKey, markReplaced } from './rows/keys.ts'

/** Long enough to pass the new key on to every user of the old one. Short enough to be over on the same day. */
const DEFAULT_OVERLAP = 'PT1H'
/** Two keys valid for longer than this are two keys, not a rotation. */
const LONGEST_OVERLAP_MS = 30 * 86_400_000

/**
 * Creates a key with the name, scopes and expiry of an old one. The old key still works for `expireOldAfter`: at most
 * 30 days, by default an hour. It never works beyond its expiry.
 *
 * A key can be rotated once. For a further key, rotate the new one.
 *
 * @param tenantId the owner of the key; null for the platform
 * @returns the new key. Its secret is shown only in the response.
 * @throws ServiceError `key_not_found`; `key_not_active` if the key was revoked, was rotated or has expired;
 *   `invalid_request` if `expireOldAfter` is too long
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

/** Why a key cannot be rotated; undefined if it can. */
function whyOver({ revokedAt, replacedBy, expiresAt }: HeldKey, now: Date): string | undefined {
  if (revokedAt !== null) return `was revoked at ${revokedAt.toISOString()}`
  if (replacedBy !== null) return `was rotated already: rotate ${replacedBy}, which took its place`
  if (expiresAt !== null && expiresAt <= now) return `expired at ${expiresAt.toISOString()}`
  return undefined
}
