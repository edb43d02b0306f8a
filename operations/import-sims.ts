import { Compile } from 'typebox/compile'
import { type ImportResult, NewSim } from '../domain/sim.ts'
import { insertSims } from '../store/sim-changes.ts'
import type { TenantTx } from '../store/tenancy.ts'

const checkSim = Compile(NewSim)
const BATCH = 5000

/**
 * Writes SIMs as they are delivered: Unprovisioned, outside pools.
 *
 * A bad record rejects itself, not the rest; an ICCID that exists already is rejected `sim_exists`, so that
 * sending a delivery again adds only what is missing. All in one transaction.
 */
export async function importSims(tx: TenantTx, records: readonly unknown[]): Promise<ImportResult> {
  const created: ImportResult['created'] = []
  const rejected: ImportResult['rejected'] = []
  const places = new Map<string, number>()
  const good: { index: number; sim: NewSim }[] = []
  for (const [index, record] of records.entries()) {
    if (!checkSim.Check(record)) {
      rejected.push({ index, code: 'invalid_request', detail: whyNot(record) })
    } else if (places.has(record.iccid)) {
      rejected.push({ index, code: 'sim_exists', detail: `the same ICCID as record ${places.get(record.iccid)}` })
    } else {
      places.set(record.iccid, index)
      good.push({ index, sim: record })
    }
  }
  for (let start = 0; start < good.length; start += BATCH) {
    const batch = good.slice(start, start + BATCH)
    const ids = new Map(
      (
        await insertSims(
          tx,
          batch.map(({ sim }) => sim),
        )
      ).map(({ iccid, id }) => [iccid, id]),
    )
    for (const { index, sim } of batch) {
      const id = ids.get(sim.iccid)
      if (id === undefined) rejected.push({ index, code: 'sim_exists', detail: `ICCID ${sim.iccid} exists already` })
      else created.push({ iccid: sim.iccid, id })
    }
  }
  return { created, rejected: rejected.sort((a, b) => a.index - b.index) }
}

function whyNot(record: unknown): string {
  const faults = checkSim.Errors(record).map(({ instancePath, message }) => `${instancePath || 'record'}: ${message}`)
  return faults.join('; ')
}
