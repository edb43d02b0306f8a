/** Lists to walk by cursors: the answer has a `Link` header (RFC 8288) whose `next` leads on. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readCursor, type WalkedList } from '../../domain/cursor.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { Part } from '../../store/paging.ts'

/**
 * A hook before validation, because that sets a default for the page. What else is wrong with a cursor, the schema says.
 *
 * Refuses with `invalid_request` a cursor of another list, or text that is none, and a cursor with a page.
 */
export const takesCursor = (list: WalkedList) => async (request: FastifyRequest) => {
  const { page, cursor }: { page?: unknown; cursor?: unknown } = Object(request.query)
  if (typeof cursor !== 'string') return
  readCursor(list, cursor)
  if (page === undefined) return
  const detail = `goes without page: it says itself where it goes on; got page '${typeof page === 'string' ? page : 'several times'}'`
  throw new ServiceError('invalid_request', `cursor ${detail}.`, { errors: [{ parameter: 'cursor', detail }] })
}

/** A part of a list, as {@link Part}. */
export type WalkPage = Pick<Part<unknown>, 'next' | 'pagination'>

/** Sets the links of a response. @returns its body */
export function linked<P extends WalkPage>(
  request: FastifyRequest,
  reply: FastifyReply,
  { next, ...page }: P,
): Omit<P, 'next'> {
  const isFirst = page.pagination.page === 1
  const links = [
    ...(next === null ? [] : [`<${linkTo(request, next)}>; rel="next"`]),
    ...(isFirst ? [] : [`<${linkTo(request, null)}>; rel="first"`]),
  ]
  if (links.length > 0) reply.header('link', links.join(', '))
  return page
}

/** The request's path with its filters and the page's size, from a cursor on or from the beginning. */
function linkTo({ url, routeOptions }: FastifyRequest, cursor: string | null): string {
  const [path = ''] = url.split('?', 1)
  const known = Object(routeOptions.schema?.querystring).properties ?? {}
  const kept = [...new URLSearchParams(url.slice(path.length))].filter(
    ([name, value]) => Object.hasOwn(known, name) && name !== 'page' && name !== 'cursor' && value !== '',
  )
  const asked = new URLSearchParams(kept)
  if (cursor !== null) asked.set('cursor', cursor)
  return asked.size === 0 ? path : `${path}?${asked.toString()}`
}
