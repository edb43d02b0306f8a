/** Lets other work of this process run: a set of 8 MB, or its tests, take seconds, and other requests arrive in that time. */
export const othersFirst = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
