/** The environment of child processes. */
import type { Settings } from './settings.ts'

type Some = Partial<Settings>

const asText = (settings: Some) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))

/** Our own environment. `settings` override its values; `otherwise` gives values for settings that it lacks. */
export const childEnv = (settings: Some, otherwise: Some = {}): Record<string, string | undefined> => ({
  ...asText(otherwise),
  ...process.env,
  ...asText(settings),
})
