/** Our folders whose code is part of the workflows' bundle. Lint, the bundle's hash and its test read this list. */
export const BUNDLED: readonly string[] = ['workflows', 'domain/temporal', 'domain/time']
