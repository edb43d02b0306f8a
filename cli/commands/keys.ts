/** `simherd keys create-operator`: makes the platform's first key. Every other request needs a key. */

import type { Settings } from '../../process/settings.ts'
import { createKey } from '../../service/tenants/create-key.ts'
import { connect } from '../../store/connect.ts'
import { pendingMigrations } from '../../store/migrate/migrate.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { CommandFailure, ExitCode, requireSettings } from '../failures.ts'
import { commandStore } from '../on-behalf.ts'
import { print } from '../print.ts'

/** Makes an operator key directly in the database at DATABASE_URL, and prints it. It is shown only this once. */
export async function createOperatorKey(settings: Settings, { name }: { readonly name: string }): Promise<void> {
  requireSettings(settings, ['DATABASE_URL'])
  const { db, close } = connect(settings.DATABASE_URL, { max: 1 })
  try {
    if ((await pendingMigrations(db)).length > 0) {
      throw new CommandFailure(
        'the database in DATABASE_URL is not migrated: run "npx simherd migrate" first',
        ExitCode.usage,
      )
    }
    const store = commandStore(db, 'keys create-operator')
    const { key } = await inPlatform(store, (tx) => createKey(tx, null, { name, scopes: ['operator'] }))
    print(key)
    console.error('This operator key reaches every tenant and is not shown again: keep it as a secret (SERVICE_KEY).')
  } finally {
    await close()
  }
}
