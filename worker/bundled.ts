/** Own folders whose code enters the bundle of the workflows: lint, the bundle's hash and its test read them here. */
export const BUNDLED: readonly string[] = ['workflows', 'domain/temporal', 'domain/time']
