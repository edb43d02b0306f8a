/** Imports SIMs as they are delivered. */
import type { ImportPreview, ImportResult, NewSim } from '../../domain/estate/sim.ts'
import { noteCreated } from '../../store/audit.ts'
import { insertableSims, insertSims } from '../../store/estate/sim-changes.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { checkSim, type SimWarning } from './check-sim.ts'

const BATCH = 5000
/** The most warnings in a response: nobody reads more. */
const MOST_WARNINGS = 1000

/** The file that the records of an import came from. */
export interface SimFile {
  /** The line in which each record begins, counted from 1. */
  readonly lines: readonly number[]
  /** Why records could not be parsed, by their index. */
  readonly unreadable: ReadonlyMap<number, string>
}

interface GoodSim {
  readonly index: number
  readonly sim: NewSim
  readonly warnings: readonly SimWarning[]
}

type Rejected = ImportResult['rejected'][number]

/**
 * Writes SIMs as they are delivered: Unprovisioned, outside pools. All in the caller's transaction.
 *
 * A bad record is rejected, and the rest is written. An ICCID that exists already is rejected with `sim_exists`, so
 * that a repeated delivery adds only what is missing.
 */
export const importSims = (tx: TenantTx, records: readonly unknown[], file?: SimFile): Promise<ImportResult> =>
  takeIn(records, file, async (sims) => {
    const inserted = await insertSims(tx, sims)
    const after = new Map(sims.map((sim) => [sim.iccid, sim]))
    await noteCreated(
      tx,
      'sim',
      inserted.map(({ id, iccid }) => ({ id, after: { iccid, ...after.get(iccid) } })),
    )
    return inserted
  })

/** What {@link importSims} would do with these records, by the same checks. Writes nothing. */
export const previewSimImport = async (
  tx: TenantTx,
  records: readonly unknown[],
  file?: SimFile,
): Promise<ImportPreview> => ({
  dryRun: true,
  ...(await takeIn(records, file, (sims) => insertableSims(tx, sims))),
})

async function takeIn<T extends { readonly iccid: string }>(
  records: readonly unknown[],
  file: SimFile | undefined,
  insert: (sims: readonly NewSim[]) => Promise<readonly T[]>,
) {
  const { good, rejected } = sorted(records, file)
  const created: T[] = []
  const warnings: ImportResult['warnings'] = []
  for (let start = 0; start < good.length; start += BATCH) {
    const batch = good.slice(start, start + BATCH)
    const inserted = new Map((await insert(batch.map(({ sim }) => sim))).map((row) => [row.iccid, row]))
    for (const { index, sim, warnings: ofSim } of batch) {
      const row = inserted.get(sim.iccid)
      if (row === undefined) {
        rejected.push({ index, code: 'sim_exists', detail: `${lineOf(file, index)}ICCID ${sim.iccid} exists already` })
      } else {
        created.push(row)
        for (const { field, detail } of ofSim)
          warnings.push({ index, field, detail: `${lineOf(file, index)}${detail}` })
      }
    }
  }
  return {
    created,
    rejected: rejected.sort((a, b) => a.index - b.index),
    warnings: warnings.slice(0, MOST_WARNINGS),
    warningCount: warnings.length,
  }
}

/** Separates records that can be written from those that cannot. Of several with one ICCID, only the first can. */
function sorted(records: readonly unknown[], file: SimFile | undefined): { good: GoodSim[]; rejected: Rejected[] } {
  const good: GoodSim[] = []
  const rejected: Rejected[] = []
  const places = new Map<string, number>()
  const reject = (index: number, code: Rejected['code'], why: string) =>
    rejected.push({ index, code, detail: `${lineOf(file, index)}${why}` })
  for (const [index, record] of records.entries()) {
    const unreadable = file?.unreadable.get(index)
    const checked = unreadable === undefined ? checkSim(record) : { fault: unreadable }
    if ('fault' in checked) {
      reject(index, 'invalid_request', checked.fault)
      continue
    }
    const { iccid } = checked.sim
    const first = places.get(iccid)
    if (first === undefined) {
      places.set(iccid, index)
      good.push({ index, ...checked })
    } else {
      const line = file === undefined ? '' : `, in line ${file.lines[first]}`
      reject(index, 'sim_exists', `the same ICCID as record ${first}${line}: ${iccid}`)
    }
  }
  return { good, rejected }
}

/** A prefix for messages: the line in which a record begins; empty if there is no file. */
export const lineOf = (file: SimFile | undefined, index: number): string =>
  file === undefined ? '' : `line ${file.lines[index]}: `
