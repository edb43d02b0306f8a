/** Our code in the workflows' bundle. Lint, the bundle's hash and its test read this list. */
export const BUNDLED: readonly string[] = [
  'workflows',
  'domain/temporal',
  'domain/time',
  'domain/quantity.ts',
  'domain/units.ts',
  'domain/enforcement/suspension.ts',
  'domain/enforcement/suspension-state.ts',
  'domain/enforcement/suspension-updates.ts',
]
