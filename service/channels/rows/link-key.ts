/** The key that signs the links in mails: one for the installation. Source: decision 0049. */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { PlatformTx } from '../../../store/tenancy.ts'

const BYTES = 32

/** Reads the key. The first process that needs it makes it. */
export async function linkKey(tx: PlatformTx): Promise<Uint8Array> {
  const { rows } = await sql<{ key: Buffer }>`select key from mail_link_key`.execute(tx.q)
  if (rows[0] !== undefined) return rows[0].key
  await sql`
    insert into mail_link_key (key, created_at) values (${randomBytes(BYTES)}, ${tx.now})
    on conflict do nothing`.execute(tx.q)
  const made = await sql<{ key: Buffer }>`select key from mail_link_key`.execute(tx.q)
  if (made.rows[0] === undefined) throw new Error('the key of links in mails was deleted while it was made')
  return made.rows[0].key
}
