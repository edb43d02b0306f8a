/** Counts a stream of usage records, chunk by chunk. The next chunk is read while one is being counted. */

import { Waste } from '../../domain/files/waste.ts'
import type { Store } from '../../store/tenancy.ts'
import { countUsage, type ReadResult, readUsage, type UsageOptions, type UsageResponse } from './record-usage.ts'

/** Most records in one transaction. Two chunks are in memory at most. */
const CHUNK = 20_000
/** A record waits this long for others, and for as long as the chunk before it takes. */
const WAIT_MS = 50

/**
 * Counts records as they arrive.
 *
 * @param values records as received, unchecked, some at a time
 * @param onCounted called with the result of each chunk
 * @throws ServiceError invalid_request if too many are no usage records
 * @throws any error of reading the stream or counting a chunk; earlier records are counted
 */
export async function countStream(
  store: Store,
  tenantId: string,
  values: AsyncIterable<readonly unknown[]>,
  options: UsageOptions,
  onCounted: (counted: UsageResponse) => void,
): Promise<void> {
  const chunks = new Chunks((read, firstIndex) => countUsage(store, tenantId, read, firstIndex, options), onCounted)
  const waste = new Waste('faulty records')
  try {
    for await (const some of values) {
      for (const value of some) {
        const read = readUsage(store, value, options.maxAgeMs)
        if ('fault' in read && read.fault.code === 'invalid_record') waste.countUseless(read.fault.detail)
        else waste.countUseful()
        chunks.add(read)
        if (chunks.isFull) await chunks.takeTurn()
      }
    }
  } finally {
    // If the stream has failed, earlier records still count.
    await chunks.end()
  }
}

/** At most one chunk is being counted, while the next one fills. */
class Chunks {
  readonly #count: (read: readonly ReadResult[], firstIndex: number) => Promise<UsageResponse>
  readonly #onCounted: (counted: UsageResponse) => void
  #chunk: ReadResult[] = []
  #firstIndex = 0
  #counting: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    count: (read: readonly ReadResult[], firstIndex: number) => Promise<UsageResponse>,
    onCounted: (counted: UsageResponse) => void,
  ) {
    this.#count = count
    this.#onCounted = onCounted
  }

  /** Whether the next chunk has to wait for the present one; or the present one has failed. */
  get isFull(): boolean {
    return this.#chunk.length >= CHUNK || this.#failure !== undefined
  }

  add(result: ReadResult): void {
    this.#chunk.push(result)
    if (this.#chunk.length === 1) this.#timer = setTimeout(() => this.#begin(), WAIT_MS)
  }

  /** Begins with the full chunk, once the one before it is counted. */
  async takeTurn(): Promise<void> {
    await this.#counting
    if (this.#failure !== undefined) throw this.#failure.error
    this.#begin()
  }

  /** Counts the remaining records. */
  async end(): Promise<void> {
    await this.takeTurn()
    await this.takeTurn()
    clearTimeout(this.#timer)
  }

  #begin(): void {
    if (this.#counting !== undefined || this.#failure !== undefined || this.#chunk.length === 0) return
    clearTimeout(this.#timer)
    const [read, firstIndex] = [this.#chunk, this.#firstIndex]
    this.#firstIndex += read.length
    this.#chunk = []
    this.#counting = this.#run(read, firstIndex)
  }

  async #run(read: readonly ReadResult[], firstIndex: number): Promise<void> {
    try {
      this.#onCounted(await this.#count(read, firstIndex))
    } catch (error) {
      this.#failure = { error }
    }
    this.#counting = undefined
    // Records received during the last count have waited long enough.
    this.#begin()
  }
}
