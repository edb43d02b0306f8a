/** Links: where the id that an operation answers leads. */
import { isObject, type Json, type JsonObject } from './json.ts'

interface Item {
  readonly operationId: string
  /** Name of its path parameter. */
  readonly parameter: string
}

/** An operation and where it is in the document. */
export interface Place {
  readonly paths: JsonObject
  readonly path: string
  readonly method: string
  readonly operation: JsonObject
}

/** The operations on one item of a collection: `/api/pools` has those of `/api/pools/{id}`. */
function itemsOf(paths: JsonObject, collection: string): Item[] {
  return Object.entries(paths).flatMap(([path, item]) => {
    const parameter = path.startsWith(`${collection}/`)
      ? /^\{(\w+)\}$/.exec(path.slice(collection.length + 1))?.[1]
      : undefined
    if (parameter === undefined || !isObject(item)) return []
    return Object.values(item).flatMap((operation) =>
      isObject(operation) && typeof operation.operationId === 'string'
        ? [{ operationId: operation.operationId, parameter }]
        : [],
    )
  })
}

/** The operations on what the answer of a change names: of its own collection, or of the nearest one above it. */
function nearestItems(paths: JsonObject, path: string): Item[] {
  for (let collection = path; collection.includes('/'); collection = collection.slice(0, collection.lastIndexOf('/'))) {
    const items = itemsOf(paths, collection)
    if (items.length > 0) return items
  }
  return []
}

/** Where in an answer of this example an id stands, as a JSON pointer. */
function idIn(example: Json | undefined): string | undefined {
  if (Array.isArray(example)) {
    const [first] = example
    return isObject(first) && 'id' in first ? '/0/id' : undefined
  }
  if (!isObject(example)) return undefined
  if ('id' in example) return '/id'
  const inside = idIn(example.data)
  return inside === undefined ? undefined : `/data${inside}`
}

/** The links of an answer; none where it has no id, or leads only to the operation itself. */
export function linksOf({ paths, path, method, operation }: Place, example: Json | undefined): JsonObject {
  const pointer = idIn(example)
  if (pointer === undefined) return {}
  const items = method === 'get' ? itemsOf(paths, path) : nearestItems(paths, path)
  const others = items.filter((item) => item.operationId !== operation.operationId)
  return Object.fromEntries(
    others.map(({ operationId, parameter }) => [
      operationId,
      { operationId, parameters: { [parameter]: `$response.body#${pointer}` } },
    ]),
  )
}
