/** Reading lists of the service to their end. */
import { type Static, type TSchema, Type } from 'typebox'
import type { Caller } from './caller.ts'

const PAGE_SIZE = 100

/** All items of a paged list. @param path may have a query already */
export async function allOf<T extends TSchema>(service: Caller, path: string, item: T): Promise<Static<T>[]> {
  const Page = Type.Object({
    data: Type.Array(item),
    pagination: Type.Object({ hasNextPage: Type.Boolean() }),
  })
  const items: Static<T>[] = []
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await service.get(
      `${path}${path.includes('?') ? '&' : '?'}page=${page}&pageSize=${PAGE_SIZE}`,
      Page,
    )
    items.push(...data)
    if (!pagination.hasNextPage) return items
  }
}
