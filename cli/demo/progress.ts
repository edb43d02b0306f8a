/** `<data folder>/demo.json`: the demonstration's progress, to resume an interrupted one. */
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { readJsonFile, writeJsonFile } from '../files.ts'

const Instant = Type.Integer({ description: 'Epoch milliseconds' })

/** Maps the usage file's month to a billing cycle, by start and end. Written before the first record is sent. */
export const Mapping = Type.Object({
  cycle: Type.Object({ key: Type.String(), startsAt: Instant, endsAt: Instant }),
  /** The file's month, `[from, to)`. */
  file: Type.Object({ from: Instant, to: Instant }),
  /** The interval that the month is mapped onto, `[from, to)`. */
  onto: Type.Object({ from: Instant, to: Instant }),
})
export type Mapping = Static<typeof Mapping>

const DemoProgress = Type.Object({
  tenantId: Type.String(),
  tenantKey: Type.String(),
  state: Type.Union([Type.Literal('running'), Type.Literal('done'), Type.Literal('failed')]),
  /** Null until a cycle is chosen. */
  mapping: Type.Union([Mapping, Type.Null()]),
  /** Rows of the file that the service has taken in. */
  posted: Type.Integer({ minimum: 0 }),
  /** The service's counts of these rows, summed over its responses. */
  answered: Type.Object({ accepted: Type.Integer(), duplicates: Type.Integer(), rejected: Type.Integer() }),
  changesQueued: Type.Boolean(),
})
export type DemoProgress = Static<typeof DemoProgress>

export const newProgress = (tenant: { readonly tenantId: string; readonly tenantKey: string }): DemoProgress => ({
  ...tenant,
  state: 'running',
  mapping: null,
  posted: 0,
  answered: { accepted: 0, duplicates: 0, rejected: 0 },
  changesQueued: false,
})

const pathOf = (dataDir: string) => join(dataDir, 'demo.json')

export const readProgress = (dataDir: string): Promise<DemoProgress | undefined> =>
  readJsonFile(pathOf(dataDir), DemoProgress)
export const writeProgress = (dataDir: string, progress: DemoProgress): Promise<void> =>
  writeJsonFile(pathOf(dataDir), progress)
