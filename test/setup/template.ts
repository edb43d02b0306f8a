/** The migrated database that test databases are copied from. */
export const TEMPLATE = 'simherd_template'
