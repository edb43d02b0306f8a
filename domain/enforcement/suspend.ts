/** How long the watchdog suspends a SIM, and which SIMs of a pool. */
import { Type } from 'typebox'

/** `renewal`: the SIM resumes with the next billing cycle. `manual`: it stays suspended until a person acts. */
export const SUSPENDED_UNTIL = ['renewal', 'manual'] as const
export type SuspendedUntil = (typeof SUSPENDED_UNTIL)[number]

export const Until = (description?: string) =>
  Type.Unsafe<SuspendedUntil>({
    type: 'string',
    enum: [...SUSPENDED_UNTIL],
    ...(description === undefined ? {} : { description }),
  })

/** Which SIMs a rule suspends. A SIM's rule has only `self`; a pool's rule has the other three. */
export const SUSPEND_TARGETS = ['self', 'largestExcess', 'aboveShare', 'all'] as const
export type SuspendTarget = (typeof SUSPEND_TARGETS)[number]
