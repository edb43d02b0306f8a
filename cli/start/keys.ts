/** Makes the platform's first keys directly in the database, because a request that makes a key needs a key itself. */
import { timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { Type } from 'typebox'
import { createKey, hashSecret, parseKey } from '../../service/tenants/create-key.ts'
import { findKey } from '../../service/tenants/rows/keys.ts'
import { tenantIds } from '../../service/tenants/rows/tenants.ts'
import { connect } from '../../store/connect.ts'
import { inPlatform, type PlatformTx } from '../../store/tenancy.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { readJsonFile, writeJsonFile } from '../files.ts'
import { commandStore } from '../on-behalf.ts'

const Keys = Type.Object({ operatorKey: Type.String(), serviceKey: Type.String() })

export interface Bootstrap {
  /** For people and tools. */
  readonly operatorKey: string
  /** For the workers. */
  readonly serviceKey: string
  /** Tenants that exist, oldest first. */
  readonly tenants: readonly string[]
}

/**
 * The keys of the last run if they are still valid, else new ones. They are kept in the data folder.
 *
 * @param may.mayMake false: the operator's own database gets only requested keys
 * @throws CommandFailure if new keys are needed, and `mayMake` is false
 */
export async function bootstrap(
  databaseUrl: string,
  dataDir: string,
  { mayMake }: { readonly mayMake: boolean },
): Promise<Bootstrap> {
  const path = join(dataDir, 'keys.json')
  const kept = await readJsonFile(path, Keys)
  const { db, close } = connect(databaseUrl, { max: 1 })
  try {
    const result = await inPlatform(commandStore(db, 'start'), async (tx) => {
      const keyFor = async (name: string, given: string | undefined) => {
        if (given !== undefined && (await isValid(tx, given))) return given
        if (!mayMake) throw mayNotMake(path)
        return (await createKey(tx, null, { name, scopes: ['operator'] })).key
      }
      return {
        operatorKey: await keyFor('simherd start', kept?.operatorKey),
        serviceKey: await keyFor('simherd start, workers', kept?.serviceKey),
        tenants: await tenantIds(tx),
      }
    })
    await writeJsonFile(path, { operatorKey: result.operatorKey, serviceKey: result.serviceKey })
    return result
  } finally {
    await close()
  }
}

const mayNotMake = (path: string) =>
  new CommandFailure(
    `the start needs operator keys of the database at DATABASE_URL, and ${path} has none that it knows: ` +
      'start with --bootstrap to have two made, or with the DATA_DIR of the start that made them',
    ExitCode.usage,
  )

async function isValid(tx: PlatformTx, key: string): Promise<boolean> {
  const parsed = parseKey(key)
  const stored = parsed && (await findKey(tx, parsed.id))
  if (parsed === undefined || stored === undefined || stored.revokedAt !== null) return false
  if (stored.expiresAt !== null && stored.expiresAt <= tx.now) return false
  return stored.tenantId === null && timingSafeEqual(stored.secretHash, hashSecret(parsed.secret))
}
