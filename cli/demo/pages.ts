/** Reads all pages of the service's lists. */

/** Most items in a page of the service. */
const PAGE_SIZE = 100

interface Page<T> {
  readonly data: readonly T[]
  readonly pagination: { readonly hasNextPage: boolean }
}

/**
 * Reads every item of a paged list.
 *
 * @param read reads one page
 */
export async function allOf<T>(
  read: (query: { readonly page: number; readonly pageSize: number }) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = []
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await read({ page, pageSize: PAGE_SIZE })
    items.push(...data)
    if (!pagination.hasNextPage) return items
  }
}
