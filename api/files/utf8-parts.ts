/** Finds invalid UTF-8 in text that arrives in parts. */
import { isUtf8 } from 'node:buffer'

const NOTHING = Buffer.alloc(0)

/** The fault of a record with invalid UTF-8. It must not be counted under a changed id. */
export const NOT_UTF8 = 'has bytes that are not UTF-8: save the file as UTF-8 (in Excel: "CSV UTF-8") and send it again'

/** Looks at one text, part by part. A character may be divided between two parts. */
export class Utf8Parts {
  /** The beginning of a character. */
  #rest = NOTHING

  /** Whether a part is valid. An unfinished character at its end counts for the next part. */
  isText(part: Buffer): boolean {
    if (this.#rest.length === 0 && isUtf8(part)) return true
    const bytes = Buffer.concat([this.#rest, part])
    const end = bytes.length - unfinishedBytes(bytes)
    this.#rest = bytes.subarray(end)
    return isUtf8(bytes.subarray(0, end))
  }

  /** Whether the text may end here. */
  isWhole(): boolean {
    return this.#rest.length === 0
  }
}

/** Bytes at the end that begin a character and do not finish it: at most 3. */
function unfinishedBytes(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count++) {
    const byte = bytes[bytes.length - count] ?? 0
    const isFollowing = byte >> 6 === 0b10
    if (!isFollowing) return lengthFrom(byte) > count ? count : 0
  }
  return 0
}

/** Bytes of the character that this byte begins. */
const lengthFrom = (byte: number): number => (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1)
