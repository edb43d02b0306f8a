/** Decodes the bytes of bodies and files as UTF-8. Strictly: a replaced character would change an id or a name. */

/** Bytes as text, or why they are none, in words that follow the name of the file: `is not UTF-8, …`. */
export type Decoding = { readonly text: string } | { readonly fault: string; readonly line: number }

const MARK = '\uFEFF'
const NEXT = 'save it as UTF-8 (in Excel: "CSV UTF-8") and send it again'

/** The text without a byte order mark at its start. Source: RFC 8259, 8.1. */
export const withoutMark = (text: string): string => (text.startsWith(MARK) ? text.slice(1) : text)

/** Skips a byte order mark. */
const strict = new TextDecoder('utf-8', { fatal: true })

/** Decodes a whole text, without its byte order mark. A fault has the first line with invalid UTF-8, counted from 1. */
export function decode(bytes: Uint8Array): Decoding {
  const other = otherFormatOf(bytes)
  if (other !== undefined) return { fault: other, line: 1 }
  const text = decoded(bytes)
  if (text !== undefined) return { text }
  const line = firstBadLine(bytes)
  return { fault: `is not UTF-8, line ${line} is the first that is not: ${NEXT}`, line }
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** Says what bytes are that begin like UTF-16 or gzip; undefined for others. @param start at least the first 4 bytes */
export function otherFormatOf(start: Uint8Array): string | undefined {
  const first = String.fromCharCode(...start.subarray(0, 4))
  if (/^(?:\xFF\xFE|\xFE\xFF|[^\0]\0|\0[^\0])/.test(first)) return `is not UTF-8, it looks like UTF-16: ${NEXT}`
  if (isGzip(start)) return 'is packed with gzip: send Content-Encoding: gzip with it, where this path takes it'
  return undefined
}

/** Whether bytes begin like gzip. Source: RFC 1952, 2.3.1. */
export const isGzip = (start: Uint8Array): boolean => start[0] === 0x1f && start[1] === 0x8b

const [NEWLINE, RETURN] = [0x0a, 0x0d]

function firstBadLine(bytes: Uint8Array): number {
  let [line, from] = [1, 0]
  // Excel for Mac ends lines with CR alone.
  const sign = bytes.includes(NEWLINE) ? NEWLINE : RETURN
  for (let end = bytes.indexOf(sign); end >= 0; end = bytes.indexOf(sign, from)) {
    if (decoded(bytes.subarray(from, end)) === undefined) break
    line += 1
    from = end + 1
  }
  return line
}
