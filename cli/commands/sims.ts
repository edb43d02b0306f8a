/** `simherd sims import <file>` and `simherd sims unqueue` */
import { extname } from 'node:path'
import { idempotent } from '../../adapters/rest/client.ts'
import type { ImportTotals } from '../../domain/sims/sim-import.ts'
import type { Settings } from '../../process/settings.ts'
import { askService, forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { readInput } from '../files.ts'
import { print } from '../print.ts'
import { delivered, responseOf, withOptions } from '../service.ts'
import { table } from '../table.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.json': 'application/json',
  '.ndjson': 'application/x-ndjson',
  '.jsonl': 'application/x-ndjson',
}

interface Remark {
  readonly index: number
  readonly detail: string
}

/** Longest wait for the response. 100,000 SIMs take half a minute, or minutes on a busy database. */
const TIMEOUT_MS = 5 * 60_000
/** Most rejected records shown, and most warnings. */
const SHOWN = 20

interface ImportFlags extends TenantFlags {
  readonly dryRun?: boolean
  readonly ignoreUnknown?: boolean
}

/**
 * Imports the SIMs of a file, and prints the result: with pool, tariff and usage, if they live at the carrier already.
 *
 * @param file CSV, NDJSON or JSON, by the extension of its name
 * @throws CommandFailure if the file is refused, or if a record was rejected; the good records are created all the same
 */
export async function importSimFile(
  settings: Settings,
  file: string,
  { tenant: tenantId, dryRun = false, ignoreUnknown = false }: ImportFlags,
): Promise<void> {
  const type = TYPES[extname(file).toLowerCase()]
  if (type === undefined) {
    throw new CommandFailure(`${file}: expected a file that ends in ${Object.keys(TYPES).join(', ')}`, ExitCode.usage)
  }
  const bytes = await readInput(file)
  const { created, rejected, warnings, warningCount, totals, ignored } = await askService(
    { settings, tenantId, timeoutMs: TIMEOUT_MS },
    (service) =>
      responseOf(
        service.POST('/internal/sims', {
          params: { ...idempotent(), query: { dryRun, ignoreUnknown } },
          body: bytes,
          ...delivered(bytes, { 'content-type': type }),
        }),
      ),
  )
  const counts: [string, number][] = [
    [dryRun ? 'would be created' : 'created', created.length],
    ['rejected', rejected.length],
    ['warnings', warningCount],
    ...takenOver(totals),
  ]
  if (dryRun) print('dry run: nothing was written')
  if (ignored.length > 0) print(`passed over: ${ignored.join(', ')}`)
  for (const line of [
    ...table([], counts),
    ...listed('rejected', rejected, rejected.length),
    ...listed('warnings', warnings, warningCount),
  ]) {
    print(line)
  }
  if (rejected.length === 0) return
  const all = created.length + rejected.length
  throw new CommandFailure(`${rejected.length} of ${all} records ${dryRun ? 'would be' : 'were'} rejected`)
}

/** States and usage of imported SIMs, to compare with the carrier's figures. */
function takenOver({
  unprovisioned,
  active,
  suspended,
  usageBytes,
  voiceSeconds,
  smsCount,
}: ImportTotals): [string, number][] {
  if (active + suspended === 0) return []
  return [
    ['Active', active],
    ['Suspended', suspended],
    ['Unprovisioned', unprovisioned],
    ['bytes used', usageBytes],
    ['seconds of voice', voiceSeconds],
    ['messages', smsCount],
  ]
}

function listed(what: string, remarks: readonly Remark[], count: number): string[] {
  if (count === 0) return []
  const some = remarks.slice(0, SHOWN)
  const head = count > some.length ? `${what}, the first ${some.length} of ${count}:` : `${what}:`
  return ['', head, ...some.map(({ index, detail }) => `  record ${index}: ${withOptions(detail)}`)]
}

/** Cancels the queued change of a SIM, and prints the result. @throws CommandFailure with the service's response */
export const unqueueSim = forTenant(async (service, { sim: id }: TenantFlags & { readonly sim: number }) => {
  await responseOf(service.DELETE('/internal/sims/{id}/queued-change', { params: { path: { id } } }))
  print(`nothing is queued for SIM ${id} at the end of the billing cycle`)
})
