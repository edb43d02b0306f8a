/** OpenAPI links: which operations take the id that a response contains. */
import { isObject, type Json, type JsonObject } from './json.ts'

interface Item {
  readonly operationId: string
  /** Name of the operation's path parameter. */
  readonly parameter: string
}

/** An operation and its place in the document. */
export interface LinkPlace {
  readonly paths: JsonObject
  readonly path: string
  readonly method: string
  readonly operation: JsonObject
}

/** The operations on one item of a collection. For `/api/pools`: those of `/api/pools/{id}` and of paths below it. */
function itemsOf(paths: JsonObject, collection: string): Item[] {
  return Object.entries(paths).flatMap(([path, item]) => {
    const parameter = path.startsWith(`${collection}/`)
      ? /^\{(\w+)\}(\/|$)/.exec(path.slice(collection.length + 1))?.[1]
      : undefined
    if (parameter === undefined || !isObject(item)) return []
    return Object.values(item).flatMap((operation) =>
      isObject(operation) && typeof operation.operationId === 'string'
        ? [{ operationId: operation.operationId, parameter }]
        : [],
    )
  })
}

/** The operations on the item in the response to a change: of the path's collection, or the nearest one above. */
function nearestItems(paths: JsonObject, path: string): Item[] {
  for (let collection = path; collection.includes('/'); collection = collection.slice(0, collection.lastIndexOf('/'))) {
    const items = itemsOf(paths, collection)
    if (items.length > 0) return items
  }
  return []
}

/** JSON pointer to an item's id in an example response. The id's field is named `parameter` or `id`. */
function idIn(example: Json | undefined, parameter: string): string | undefined {
  if (Array.isArray(example)) {
    const name = nameIn(example[0], parameter)
    return name === undefined ? undefined : `/0/${name}`
  }
  if (!isObject(example)) return undefined
  const name = nameIn(example, parameter)
  if (name !== undefined) return `/${name}`
  const inside = idIn(example.data, parameter)
  return inside === undefined ? undefined : `/data${inside}`
}

const nameIn = (item: Json | undefined, parameter: string): string | undefined =>
  isObject(item) ? [parameter, 'id'].find((name) => name in item) : undefined

/** The links of a response. Empty if it has no id, or if the id leads only to the operation itself. */
export function linksOf({ paths, path, method, operation }: LinkPlace, example: Json | undefined): JsonObject {
  const items = method === 'get' ? itemsOf(paths, path) : nearestItems(paths, path)
  const links: JsonObject = {}
  for (const { operationId, parameter } of items) {
    const pointer = operationId === operation.operationId ? undefined : idIn(example, parameter)
    if (pointer === undefined) continue
    links[operationId] = { operationId, parameters: { [parameter]: `$response.body#${pointer}` } }
  }
  return links
}
