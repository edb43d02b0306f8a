/** How long the watchdog suspends a SIM, and which SIMs of a pool. */
import { Type } from 'typebox'

/** `renewal`: comes back with the next billing cycle. `manual`: stays until a person acts. */
export const SUSPENDED_UNTIL = ['renewal', 'manual'] as const
export type SuspendedUntil = (typeof SUSPENDED_UNTIL)[number]

export const Until = (description?: string) =>
  Type.Unsafe<SuspendedUntil>({
    type: 'string',
    enum: [...SUSPENDED_UNTIL],
    ...(description === undefined ? {} : { description }),
  })

/** Which SIMs a rule suspends; of a pool the last three. */
export const SUSPEND_TARGETS = ['self', 'largestExcess', 'aboveShare', 'all'] as const
export type SuspendTarget = (typeof SUSPEND_TARGETS)[number]
