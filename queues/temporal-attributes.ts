/** Search attributes: what Temporal's lists and UI can be filtered by. */
import { Connection, isGrpcServiceError } from '@temporalio/client'
import { SEARCH_ATTRIBUTES } from '../domain/lifecycle.ts'

/** IndexedValueType of the server's interface. */
const INDEXED = { KEYWORD: 2, INT: 3 } as const

/** gRPC status of what is there already, and of what a hosted namespace does not let its users do. */
const ALREADY_EXISTS = 6
const PERMISSION_DENIED = 7
const UNIMPLEMENTED = 12

/**
 * Makes the search attributes known to a namespace. Safe to run twice, and by several at once.
 *
 * Where the namespace does not let its users add any (hosted ones), nothing is done: its owner adds them.
 */
export async function addSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace }).catch(unless)
  const missing = Object.values(SEARCH_ATTRIBUTES).filter(({ name }) => customAttributes?.[name] === undefined)
  if (missing.length === 0) return
  const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, INDEXED[type]]))
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes }).catch(unless)
}

function unless(error: unknown): { customAttributes?: Record<string, unknown> } {
  const code = isGrpcServiceError(error) ? error.code : undefined
  if (code === ALREADY_EXISTS || code === PERMISSION_DENIED || code === UNIMPLEMENTED) return {}
  throw error
}

/** The same over a connection of its own. */
export async function registerSearchAttributes(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address })
  try {
    await addSearchAttributes(connection, namespace)
  } finally {
    await connection.close()
  }
}
