/** What a command changes straight in the database is in the audit trail as its user's. */
import { randomUUID } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import type { Store } from '../store/tenancy.ts'

/** The store of a command that wakes nobody. @param action name of the command */
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
    // In a container there may be no name for the number.
    return String(process.getuid?.() ?? 'unknown')
  }
}
