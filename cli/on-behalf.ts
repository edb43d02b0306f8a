/** A command's changes directly in the database appear in the audit trail as its user's. */
import { randomUUID } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import type { Store } from '../store/tenancy.ts'

/**
 * The store of a command that enqueues nothing.
 *
 * @param action name of the command
 */
export const commandStore = (db: Store['db'], action: string): Store => ({
  db,
  clock: Date.now,
  enqueue: () => undefined,
  caller: { actor: `cli:${user()}@${hostname()}`, keyId: null, requestId: randomUUID(), action, workflowId: null },
})

function user(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
