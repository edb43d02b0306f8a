/**
 * Counts a stream of usage records, chunk by chunk. The next chunk is read while one is being counted. A cycle not open
 * yet is opened before the chunk (`openCycle`).
 */

import { ServiceError } from '../../domain/errors.ts'
import { Waste } from '../../domain/files/waste.ts'
import { MOST_TOTAL, type ReadRecord, readRecord, type UsageFault } from '../../domain/usage/usage-record.ts'
import { inTenant, type Store } from '../../store/tenancy.ts'
import { type AtIndex, type ChunkResult, countChunk, OutdatedError } from './count-chunk.ts'
import { isStored, totalOutOfRange } from './rows/merge.ts'
import { openCycle } from './rows/open-cycle.ts'
import { partitionsFor } from './rows/partitions.ts'

/** How usage is recorded. */
export interface UsageOptions {
  /** How old a record may be, milliseconds. Default: 90 days. */
  readonly maxAgeMs?: number
}

/** The origin of usage records. */
export interface UsageSource extends UsageOptions {
  readonly store: Store
  readonly tenantId: string
  /** Id of the delivery that the records belong to. Default: none. */
  readonly deliveryId?: number
}

/** A record that was read, or its fault. */
export type ReadResult = { readonly record: ReadRecord } | { readonly fault: UsageFault }

export interface UsageResponse {
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: readonly ({ readonly index: number } & UsageFault)[]
}

/** Most records in one transaction. Two chunks are in memory at most. */
const CHUNK = 20_000
/** A record waits this long for others, and for as long as the chunk before it takes. */
const WAIT_MS = 50
const MOST_ATTEMPTS = 10

/**
 * Counts records as they arrive.
 *
 * @param values records as received, unchecked, some at a time
 * @param onCounted called with the result of each chunk
 * @throws ServiceError invalid_request if too many are no usage records
 * @throws any error of reading the stream or counting a chunk; earlier records are counted
 */
export async function countStream(
  source: UsageSource,
  values: AsyncIterable<readonly unknown[]>,
  onCounted: (counted: UsageResponse) => void,
): Promise<void> {
  const chunks = new Chunks(async (read, firstIndex) => onCounted(await countUsage(source, read, firstIndex)))
  const waste = new Waste('faulty records')
  try {
    for await (const some of values) {
      for (const value of some) {
        const read = readRecord(value, source.store.clock(), source.maxAgeMs)
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
  readonly #count: (read: readonly ReadResult[], firstIndex: number) => Promise<void>
  #chunk: ReadResult[] = []
  #firstIndex = 0
  #counting: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(count: (read: readonly ReadResult[], firstIndex: number) => Promise<void>) {
    this.#count = count
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
      await this.#count(read, firstIndex)
    } catch (error) {
      this.#failure = { error }
    }
    this.#counting = undefined
    // Records received during the last count have waited long enough.
    this.#begin()
  }
}

/**
 * Counts a chunk of records, at most a few thousand. A bad record is rejected; the rest is counted.
 *
 * @param firstIndex index of the first record in the whole delivery, for the response
 * @returns numbers of accepted and of duplicate records, and the rejected ones in order of their index
 */
export async function countUsage(
  source: UsageSource,
  results: readonly ReadResult[],
  firstIndex = 0,
): Promise<UsageResponse> {
  const faults: [number, UsageFault][] = []
  const read: AtIndex[] = []
  results.forEach((result, i) => {
    if ('fault' in result) faults.push([firstIndex + i, result.fault])
    else read.push({ index: firstIndex + i, record: result.record })
  })
  const { accepted, duplicates, rejected } = await countAll(source, read)
  const inOrder = [...faults, ...rejected].sort(([a], [b]) => a - b)
  return { accepted, duplicates, rejected: inOrder.map(([index, fault]) => ({ index, ...fault })) }
}

type Counted = Omit<ChunkResult, 'unopened'>

/**
 * Counts parsed records. Totals above `MOST_TOTAL` would not add up exactly. If the records lead to such a total,
 * counts each half on its own, down to the record that causes it. That record is rejected.
 */
async function countAll(source: UsageSource, read: readonly AtIndex[]): Promise<Counted> {
  try {
    return await countOpened(source, read)
  } catch (error) {
    const total = totalOutOfRange(error)
    const [first, second] = read
    if (total === undefined || first === undefined) throw error
    if (second === undefined) {
      const detail = `the record would take a total of its ${total} beyond ${MOST_TOTAL}`
      return { accepted: 0, duplicates: 0, rejected: new Map([[first.index, { code: 'total_out_of_range', detail }]]) }
    }
  }
  const middle = Math.ceil(read.length / 2)
  const one = await countAll(source, read.slice(0, middle))
  const other = await countAll(source, read.slice(middle))
  return {
    accepted: one.accepted + other.accepted,
    duplicates: one.duplicates + other.duplicates,
    rejected: new Map([...one.rejected, ...other.rejected]),
  }
}

/** Counts records in one transaction. Before that, opens the cycles that they belong to. */
async function countOpened({ store, tenantId, deliveryId }: UsageSource, read: readonly AtIndex[]): Promise<Counted> {
  if (read.length === 0) return { accepted: 0, duplicates: 0, rejected: new Map() }
  const instants = read.map(({ record }) => record.at)
  await partitionsFor(store, instants)
  for (;;) {
    const { unopened, ...counted } = await inTurn(tenantId, () =>
      countAgain(() => inTenant(store, tenantId, (tx) => countChunk(tx, read, deliveryId ?? null))),
    )
    if (unopened.length === 0) return counted
    for (const cycle of unopened) await inTenant(store, tenantId, (tx) => openCycle(tx, cycle))
  }
}

/** Most chunks of a tenant waiting in a process. Each is in memory. */
const MOST_WAITING = 50

/** Of each tenant, the chunk that this process counts last, and how many are not counted yet. */
const turns = new Map<string, { readonly last: Promise<unknown>; readonly count: number }>()

/**
 * Counts one chunk of a tenant at a time. Others would only wait for its merge lock, each with a connection of the
 * pool, until none is left for other tenants.
 *
 * @throws ServiceError `quota_exceeded` if too many wait already
 */
async function inTurn<T>(tenantId: string, count: () => Promise<T>): Promise<T> {
  const before = turns.get(tenantId)
  if ((before?.count ?? 0) > MOST_WAITING) {
    const detail = `Too much usage of the tenant arrives at once: ${MOST_WAITING} chunks of records wait to be counted.`
    throw new ServiceError('quota_exceeded', `${detail} Send what was not counted again.`, { retryAfter: 1 })
  }
  const mine = (before?.last ?? Promise.resolve()).then(count, count)
  turns.set(tenantId, { last: mine, count: (before?.count ?? 0) + 1 })
  try {
    return await mine
  } finally {
    const { last, count: all } = turns.get(tenantId) ?? { last: mine, count: 1 }
    if (all === 1) turns.delete(tenantId)
    else turns.set(tenantId, { last, count: all - 1 })
  }
}

/** Counts again while other transactions change rows that a chunk relies on. */
async function countAgain(count: () => Promise<ChunkResult>): Promise<ChunkResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await count()
    } catch (error) {
      if (!(error instanceof OutdatedError || isStored(error)) || attempt === MOST_ATTEMPTS) throw error
    }
  }
}
