/** Bodies of requests, as text and as JSON. */
import { ServiceError } from '../../domain/errors.ts'
import { readJson, wrongJson } from '../../domain/json.ts'
import { decode } from '../../domain/utf8.ts'
import { unsupported } from './content-encoding.ts'

/**
 * A body as text, without a byte order mark.
 *
 * @throws ServiceError invalid_request for bytes that are not UTF-8, with their line
 * @throws ServiceError unsupported_media_type for a body that is packed, though no header says so
 */
export function textOf(body: Uint8Array): string {
  if (body[0] === 0x1f && body[1] === 0x8b) {
    throw unsupported('Content-Encoding', 'the body is packed with gzip, expected one that is not packed')
  }
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
