import { vi } from 'vitest'

/**
 * Waits until something holds, in true time: a minute, which only what never comes about takes.
 *
 * @param holds throws while it does not, as an `expect` does
 * @throws Error of the last look
 */
export const soon = <T>(holds: () => T | Promise<T>): Promise<T> => vi.waitFor(holds, { timeout: 60_000, interval: 50 })
