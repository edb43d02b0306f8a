/**
 * Makes `examples/usage-2026-10.csv`, the usage file of the demonstration: `node tools/usage-file.ts`.
 *
 * The file is the same on every machine; a test compares it with what this makes.
 */
import { writeFileSync } from 'node:fs'
import { DEMO_SEED, demoEstate } from '../examples/estate.ts'
import { generateUsage, usageCsv } from '../examples/usage.ts'

/** Where the file stands. */
export const USAGE_FILE = new URL('../examples/usage-2026-10.csv', import.meta.url)

/** The month the file covers, in epoch milliseconds. */
export const USAGE_FILE_CYCLE = { startsAt: Date.UTC(2026, 9, 1), endsAt: Date.UTC(2026, 10, 1) } as const

/** The contents of the file. */
export const usageFile = (): string =>
  usageCsv(generateUsage({ seed: DEMO_SEED, estate: demoEstate(), cycle: USAGE_FILE_CYCLE }))

if (import.meta.main) {
  const contents = usageFile()
  writeFileSync(USAGE_FILE, contents)
  console.log(`examples/usage-2026-10.csv: ${contents.length} bytes`)
}
