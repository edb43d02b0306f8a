/** The platform's first keys: made straight in the database, because every call that makes one asks for one. */
import { timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { Type } from 'typebox'
import { createKey, hashSecret, parseKey } from '../../operations/create-key.ts'
import { connect } from '../../store/connect.ts'
import { findKey } from '../../store/keys.ts'
import { type Ground, inPlatform, type PlatformTx } from '../../store/tenancy.ts'
import { tenantIds } from '../../store/tenants.ts'
import { readJson, writeJson } from './files.ts'

const Keys = Type.Object({ operatorKey: Type.String(), serviceKey: Type.String() })

export interface Bootstrap {
  /** For people and tools. */
  readonly operatorKey: string
  /** The workers' own. */
  readonly serviceKey: string
  /** Tenants that are there, the oldest first. */
  readonly tenants: readonly string[]
}

/** Keys of the last run while they are valid, else new ones; kept in the data folder. */
export async function bootstrap(databaseUrl: string, dataDir: string): Promise<Bootstrap> {
  const path = join(dataDir, 'keys.json')
  const kept = await readJson(path, Keys)
  const { db, close } = connect(databaseUrl, { max: 1 })
  try {
    const ground: Ground = { db, clock: Date.now, ring: () => undefined }
    const result = await inPlatform(ground, async (tx) => ({
      operatorKey: await validOrNew(tx, kept?.operatorKey, 'simherd start'),
      serviceKey: await validOrNew(tx, kept?.serviceKey, 'simherd start, workers'),
      tenants: await tenantIds(tx),
    }))
    await writeJson(path, { operatorKey: result.operatorKey, serviceKey: result.serviceKey })
    return result
  } finally {
    await close()
  }
}

async function validOrNew(tx: PlatformTx, kept: string | undefined, name: string): Promise<string> {
  if (kept !== undefined && (await isValid(tx, kept))) return kept
  const { key } = await createKey(tx, null, { name, scopes: ['operator'] })
  return key
}

async function isValid(tx: PlatformTx, key: string): Promise<boolean> {
  const parsed = parseKey(key)
  const stored = parsed && (await findKey(tx, parsed.id))
  if (parsed === undefined || stored === undefined || stored.revokedAt !== null) return false
  if (stored.expiresAt !== null && stored.expiresAt <= tx.now) return false
  return stored.tenantId === null && timingSafeEqual(stored.secretHash, hashSecret(parsed.secret))
}
