/** Search attributes: the filters of Temporal's lists and user interface. */
import { Connection, isGrpcServiceError } from '@temporalio/client'
import { SEARCH_ATTRIBUTES } from '../../domain/temporal/start.ts'

/** IndexedValueType of the server's API. */
const INDEXED = { KEYWORD: 2, INT: 3 } as const

/** gRPC statuses: the attribute exists already, or a hosted namespace does not permit the call to its users. */
const ALREADY_EXISTS = 6
const PERMISSION_DENIED = 7
const UNIMPLEMENTED = 12

/**
 * Adds the search attributes to a namespace. Safe to run twice, and by several at once.
 *
 * Hosted namespaces do not permit their users to add any. Then nothing is done, and the owner has to add them.
 *
 * @returns the names that the namespace still lacks; empty if it does not permit its users to list them
 */
export async function addSearchAttributes(connection: Connection, namespace: string): Promise<readonly string[]> {
  const { operatorService } = connection
  const known = await unlessDenied(operatorService.listSearchAttributes({ namespace }))
  const missing = Object.values(SEARCH_ATTRIBUTES).filter(({ name }) => known?.customAttributes[name] === undefined)
  if (missing.length === 0) return []
  const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, INDEXED[type]]))
  const adding = operatorService.addSearchAttributes({ namespace, searchAttributes })
  const added = await unlessDenied(adding.catch(isThere))
  return known === undefined || added !== undefined ? [] : missing.map(({ name }) => name)
}

const codeOf = (error: unknown) => (isGrpcServiceError(error) ? error.code : undefined)

/** The response; undefined if the namespace does not permit the call. */
async function unlessDenied<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    const code = codeOf(error)
    if (code === PERMISSION_DENIED || code === UNIMPLEMENTED) return undefined
    throw error
  }
}

/** Ignores that another process has added them at the same time. */
function isThere(error: unknown): object {
  if (codeOf(error) === ALREADY_EXISTS) return {}
  throw error
}

/** Adds the search attributes over a separate connection. */
export async function registerSearchAttributes(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address })
  try {
    await addSearchAttributes(connection, namespace)
  } finally {
    await connection.close()
  }
}
