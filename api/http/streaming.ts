/** Writes long JSON arrays page by page. Memory stays bounded, however many items there are. */
import { Readable } from 'node:stream'

async function* jsonArray<T>(first: IteratorResult<readonly T[], void>, rest: AsyncGenerator<readonly T[], void>) {
  let separator = '['
  for (let page = first; page.done !== true; page = await rest.next()) {
    if (page.value.length === 0) continue
    yield separator + page.value.map((item) => JSON.stringify(item)).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

/**
 * A JSON array of the items of all pages.
 *
 * Reads the first page before it resolves, so that a failure there can still be reported in a response of its own.
 */
export async function streamedArray<T>(pages: AsyncGenerator<readonly T[], void>): Promise<Readable> {
  return Readable.from(jsonArray(await pages.next(), pages))
}
