/**
 * Content of `examples/usage-2026-10.csv`: a month of the example estate's usage, the same on every machine.
 * `npm run generate` writes it.
 */
import { DEMO_SEED, demoEstate } from '../examples/estate.ts'
import { generateUsage, usageCsv } from '../examples/usage.ts'

/** The month that the file covers, `[startsAt, endsAt)`, in epoch milliseconds. */
const CYCLE = { startsAt: Date.UTC(2026, 9, 1), endsAt: Date.UTC(2026, 10, 1) } as const

/** The content of the file. */
export const usageFile = (): string => usageCsv(generateUsage({ seed: DEMO_SEED, estate: demoEstate(), cycle: CYCLE }))
