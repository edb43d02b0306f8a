/** Rows in COPY's binary format, read one after the other from the bytes themselves. */

/** `PGCOPY`, six more bytes, flags, and the length of the rest of the head, left empty by PostgreSQL. */
const HEAD_BYTES = 19
/** Instead of the number of fields: there are no more rows. */
const END = -1
/** Instead of the length of a field. */
const NULL = -1
/** Most columns of a select list in PostgreSQL. */
const MOST_FIELDS = 1664
const NOTHING = Buffer.alloc(0)
const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length)
/** PostgreSQL counts microseconds from the beginning of 2000. */
const FROM_MS = Date.UTC(2000)

/**
 * Rows of a query. After `next` the functions give the fields of the row, by their number from 0 on. The type has to be
 * the query's: the bytes do not show it.
 */
export class CopiedRows {
  readonly #blocks: readonly Buffer[]
  readonly #starts = new Int32Array(MOST_FIELDS)
  readonly #ends = new Int32Array(MOST_FIELDS)
  #block = -1
  #bytes: Buffer = NOTHING
  /** The same bytes: it reads numbers several times as fast. */
  #view = viewOf(NOTHING)
  #next = 0

  /** @param blocks of whole rows, one after the other; before the first row is the head of them all */
  constructor(blocks: readonly Buffer[]) {
    this.#blocks = blocks
  }

  /** Goes to the next row, if there is one. */
  next(): boolean {
    while (this.#next === this.#bytes.length) this.#nextBlock()
    const [view, starts, ends] = [this.#view, this.#starts, this.#ends]
    const fields = view.getInt16(this.#next)
    if (fields === END) return false
    let at = this.#next + 2
    for (let field = 0; field < fields; field += 1) {
      const length = view.getInt32(at)
      at += 4
      starts[field] = length === NULL ? NULL : at
      if (length !== NULL) at += length
      ends[field] = at
    }
    this.#next = at
    return true
  }

  #nextBlock(): void {
    this.#block += 1
    const block = this.#blocks[this.#block]
    if (block === undefined) throw new Error('the rows of a COPY end before their end')
    this.#bytes = block
    this.#view = viewOf(block)
    this.#next = this.#block === 0 ? HEAD_BYTES : 0
  }

  /** Goes back before the first row. */
  rewind(): void {
    this.#block = -1
    this.#bytes = NOTHING
    this.#next = 0
  }

  #startOf(field: number): number {
    return this.#starts[field] ?? NULL
  }

  isNull(field: number): boolean {
    return this.#startOf(field) === NULL
  }

  /** A smallint, not null. */
  smallint(field: number): number {
    return this.#view.getInt16(this.#startOf(field))
  }

  /** An integer, not null. */
  integer(field: number): number {
    return this.#view.getInt32(this.#startOf(field))
  }

  /** A bigint, not null. Beyond 2^53 it is not exact. */
  bigint(field: number): number {
    const at = this.#startOf(field)
    return this.#view.getInt32(at) * 0x1_0000_0000 + this.#view.getUint32(at + 4)
  }

  /** A boolean, not null. */
  boolean(field: number): boolean {
    return this.#view.getInt8(this.#startOf(field)) === 1
  }

  /** A text, not null. */
  text(field: number): string {
    return this.#bytes.toString('utf8', this.#startOf(field), this.#ends[field])
  }

  /** A timestamptz, not null, cut to whole milliseconds. */
  instant(field: number): Date {
    return new Date(FROM_MS + Math.floor(this.bigint(field) / 1000))
  }
}
