/** The environment of child processes. */
import type { Settings } from './index.ts'

type Some = Partial<Settings>

const asText = (settings: Some) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))

/** Ours, with `settings` in place of what it says about them, and `otherwise` where it says nothing. */
export const childEnv = (settings: Some, otherwise: Some = {}): Record<string, string | undefined> => ({
  ...asText(otherwise),
  ...process.env,
  ...asText(settings),
})
