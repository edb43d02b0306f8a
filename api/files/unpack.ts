/** The bytes of a sent stream, plain or packed with gzip, with bounds that no packing evades. */
import { addAbortSignal, PassThrough, pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ServiceError } from '../../domain/errors.ts'
import { otherFormatOf } from '../../domain/files/utf8.ts'
import { partsOf } from './reading-turns.ts'

/**
 * Most bytes that a packed file unpacks to, for each byte that arrived. A carrier's usage has 10 to 40. Records that differ by
 * a counter alone have 85. Blank lines have 1,000.
 */
const MOST_RATIO = 100
/** Bytes that any file may unpack to. The ratio of a few records says nothing. */
const FREE_BYTES = 1024 * 1024
/** Most bytes of a file, unpacked: 10 million records. */
const MOST_BYTES = 2 * 1024 * 1024 * 1024

interface Body {
  readonly isPacked: boolean
  /** Called with what arrives, as it arrives. */
  readonly onArrival: (chunk: Buffer) => void
  /** Aborted when the sender has left: reading ends. */
  readonly left: AbortSignal | undefined
  /** Most bytes, unpacked, and what to send in place of a larger body. Default: {@link MOST_BYTES}, and parts of it. */
  readonly most?: { readonly bytes: number; readonly inPlace: string }
}

/**
 * The bytes of a body, a few at a time, in turns with other files. Several gzip streams may follow one another.
 *
 * @throws ServiceError invalid_request if the body breaks off, cannot be unpacked or is UTF-16, or if its sender has left
 * @throws ServiceError payload_too_large if there are more bytes than `most`, or too many for what arrived
 */
export async function* bytesOf(
  body: Readable,
  { isPacked, onArrival, left, most = { bytes: MOST_BYTES, inPlace: 'it in parts' } }: Body,
): AsyncGenerator<Buffer> {
  const unpacked = isPacked ? createGunzip() : new PassThrough()
  if (left !== undefined) addAbortSignal(left, unpacked)
  let arrived = 0
  async function* measured(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      arrived += chunk.length
      onArrival(chunk)
      yield chunk
    }
  }
  // If one stream fails, the others end too. The reader gets the error.
  pipeline(body, measured, unpacked, () => undefined)
  let bytes = 0
  try {
    for await (const chunk of unpacked) {
      const other = bytes === 0 ? otherFormatOf(chunk) : undefined
      if (other !== undefined) throw new ServiceError('invalid_request', `The body ${other}.`)
      bytes += chunk.length
      const room = isPacked ? Math.max(FREE_BYTES, MOST_RATIO * arrived) : most.bytes
      if (bytes > Math.min(room, most.bytes)) throw tooLarge(bytes, arrived, most)
      yield* partsOf(chunk, left)
    }
  } catch (error) {
    left?.throwIfAborted()
    throw error instanceof ServiceError ? error : unreadable('body', error)
  }
}

function tooLarge(bytes: number, arrived: number, most: { readonly bytes: number; readonly inPlace: string }) {
  const what =
    bytes > most.bytes
      ? `The body has more than the ${most.bytes} bytes there may be`
      : `The body unpacks to ${bytes} bytes and more, of ${arrived} that arrived: expected at most ${MOST_RATIO} times as many`
  return new ServiceError('payload_too_large', `${what}; send ${most.inPlace}.`)
}

/** The error for a file or a body. @param why in words, or the error of its reader */
export function unreadable(what: string, why: unknown): ServiceError {
  const reason = why instanceof Error ? why.message : String(why)
  return new ServiceError('invalid_request', `The ${what} cannot be read: ${reason}`, { cause: why })
}
