/** Search attributes: what Temporal's lists and UI can be filtered by. */
import { Connection, isGrpcServiceError } from '@temporalio/client'
import { SEARCH_ATTRIBUTES } from '../../domain/temporal/start.ts'

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
 *
 * @returns those that the namespace still lacks; none where it does not let its users look
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

/** The answer; undefined where the namespace does not let its users ask. */
async function unlessDenied<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    const code = codeOf(error)
    if (code === PERMISSION_DENIED || code === UNIMPLEMENTED) return undefined
    throw error
  }
}

/** Another has added them at the same time, which is as good. */
function isThere(error: unknown): object {
  if (codeOf(error) === ALREADY_EXISTS) return {}
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
