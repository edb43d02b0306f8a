/** The migrated database from which test databases are copied. */
export const TEMPLATE = 'simherd_template'
