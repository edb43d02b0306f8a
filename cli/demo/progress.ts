/** The demonstration's progress, a file in the data folder, to resume an interrupted one. */
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { readJsonFile, writeJsonFile } from '../files.ts'

const Instant = Type.Integer({ description: 'Epoch milliseconds' })
const Interval = Type.Object({ from: Instant, to: Instant })

/** Times of the made usage, and of its delivery. Written before the first delivery. */
export const Mapping = Type.Object({
  cycle: Type.Object({ key: Type.String(), startsAt: Instant, endsAt: Instant }),
  /** The days that usage is made of, `[from, to)`. */
  made: Interval,
  /** The interval that these days are mapped onto, `[from, to)`. */
  onto: Interval,
  /** Records up to this mapped instant are delivered. */
  until: Instant,
  /** When they are delivered, the first one and the last one. */
  delivery: Interval,
})
export type Mapping = Static<typeof Mapping>

const DemoProgress = Type.Object({
  tenantId: Type.String(),
  tenantKey: Type.String(),
  /** The tenant's billing cycle: an ISO 8601 duration. */
  billingCycle: Type.String(),
  state: Type.Union([Type.Literal('running'), Type.Literal('done'), Type.Literal('failed')]),
  /** Null until a cycle is chosen. */
  mapping: Type.Union([Mapping, Type.Null()]),
  /** Records delivered or withheld. */
  posted: Type.Integer({ minimum: 0 }),
  /** Records of suspended SIMs, which are not delivered. */
  withheld: Type.Integer({ minimum: 0 }),
  /** The service's counts of the delivered records, summed over its responses. */
  answered: Type.Object({ accepted: Type.Integer(), duplicates: Type.Integer(), rejected: Type.Integer() }),
  changesQueued: Type.Boolean(),
})
export type DemoProgress = Static<typeof DemoProgress>

export const NOTHING_DELIVERED = {
  posted: 0,
  withheld: 0,
  answered: { accepted: 0, duplicates: 0, rejected: 0 },
  changesQueued: false,
} as const

export const newProgress = ({
  tenantId,
  tenantKey,
  billingCycle,
}: Pick<DemoProgress, 'tenantId' | 'tenantKey' | 'billingCycle'>): DemoProgress => ({
  tenantId,
  tenantKey,
  billingCycle,
  state: 'running',
  mapping: null,
  ...NOTHING_DELIVERED,
})

export const readProgress = (dataDir: string, file: string): Promise<DemoProgress | undefined> =>
  readJsonFile(join(dataDir, file), DemoProgress)
export const writeProgress = (dataDir: string, file: string, progress: DemoProgress): Promise<void> =>
  writeJsonFile(join(dataDir, file), progress)
