/**
 * Bodies of requests. `checkBodies` checks each by what its path takes: content types, charset, coding. Bodies read as
 * one text pass `textOf`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { decode, isGzip } from '../../domain/files/utf8.ts'
import { readJson, wrongJson } from '../../domain/json.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body may be packed with gzip. */
    takesGzip?: true
  }
}

/**
 * Refuses bodies that a path of this scope does not take, before they are read. A path takes types it has parsers for.
 *
 * @throws ServiceError unsupported_media_type
 */
export function checkBodies(app: FastifyInstance): void {
  app.addHook('preParsing', async (request) => {
    const { method, headers, server, mediaType, routeOptions } = request
    if (method === 'GET' || method === 'HEAD') return
    const type = headers['content-type']
    const hasBytes = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
    if (type === undefined && !hasBytes) return
    const { bodiless = false, takesGzip = false } = routeOptions.config
    const isTaken = bodiless || (mediaType !== undefined && server.hasContentTypeParser(mediaType))
    if (!isTaken) {
      const got = type === undefined ? 'none' : `'${type}'`
      throw unsupported('Content-Type', `got ${got}, expected ${typesOf(request).join(' or ')}`)
    }
    // No bytes are in any charset and in any coding.
    if (!hasBytes) return
    const other = charsetsOf(type ?? '').find((charset) => !TAKEN_CHARSETS.has(charset.toLowerCase()))
    if (other !== undefined) throw unsupported('Content-Type', `got charset '${other}', expected utf-8`)
    isPacked(request, takesGzip)
  })
}

/** US-ASCII is a part of UTF-8. */
const TAKEN_CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii', ''])

/** The charsets of a content type. There may be several: then each must fit. */
const charsetsOf = (type: string): string[] =>
  [...type.matchAll(/;\s*charset\s*=([^;]*)/gi)].map(([, value = '']) => value.replaceAll(/["'\s]/g, ''))

/** Content types that a path takes, as its description has them. */
const typesOf = ({ routeOptions }: FastifyRequest): readonly string[] =>
  routeOptions.schema?.consumes ?? ['application/json']

/**
 * Headers with the types or codings of a path, for a 415. With a refused type there must be no `Accept-Encoding`.
 * Source: RFC 9110, 12.5.3 and 15.5.16.
 */
export function takenBy(request: FastifyRequest, { errors }: ServiceError): Readonly<Record<string, string>> {
  if (!errors.some(({ parameter }) => parameter === 'Content-Encoding')) return { accept: typesOf(request).join(', ') }
  return { 'accept-encoding': request.routeOptions.config.takesGzip === true ? 'gzip' : 'identity' }
}

/** @throws ServiceError unsupported_media_type for a packed body without the header */
export function mustNotBePacked(body: Uint8Array): void {
  if (isGzip(body)) throw unsupported('Content-Encoding', 'got none, though the body is packed with gzip')
}

/**
 * A body as text, without a byte order mark.
 *
 * @throws ServiceError invalid_request for invalid UTF-8, with its line
 * @throws ServiceError unsupported_media_type for a packed body
 */
export function textOf(body: Uint8Array): string {
  mustNotBePacked(body)
  const decoded = decode(body)
  if ('text' in decoded) return decoded.text
  const { fault: detail } = decoded
  throw new ServiceError('invalid_request', `body ${detail}.`, { errors: [{ pointer: '', detail }] })
}

/**
 * The value of a JSON body. Undefined for an empty one, or one of JSON's white space alone: it counts as no body.
 *
 * @throws ServiceError as `textOf`, and invalid_request for a fault of its JSON, with the place
 */
export function jsonOf(body: Uint8Array): unknown {
  const text = textOf(body)
  if (/^[ \t\r\n]*$/.test(text)) return undefined
  const read = readJson(text)
  if ('fault' in read) throw wrongJson(read.fault)
  return read.value
}

/** The error for a body in a form that its path does not take. @param header the one that states the form */
export const unsupported = (header: 'Content-Type' | 'Content-Encoding', detail: string): ServiceError =>
  new ServiceError('unsupported_media_type', `${header}: ${detail}.`, { errors: [{ parameter: header, detail }] })

/**
 * Whether a body is packed with gzip, by its header. Codings are compared in any case, `x-gzip` is gzip, and `identity` is
 * no coding. Source: RFC 9110, 8.4.
 *
 * @param takesGzip whether it may be
 * @throws ServiceError unsupported_media_type for any other coding, and for several
 */
export function isPacked({ headers }: FastifyRequest, takesGzip = false): boolean {
  const got = headers['content-encoding'] ?? ''
  const codings = got
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return false
  if (takesGzip && codings.length === 1 && /^(x-)?gzip$/.test(codings[0] ?? '')) return true
  throw unsupported('Content-Encoding', `got '${got}', expected ${takesGzip ? 'gzip or none' : 'none'}`)
}
