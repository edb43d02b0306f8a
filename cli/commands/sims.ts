/** `simherd sims import <file> --tenant <id> [--dry-run]` */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { idempotent } from '../../adapters/rest/client.ts'
import type { ImportTotals } from '../../domain/sims/sim-import.ts'
import type { Settings } from '../../process/settings.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'
import { delivered, internalClient, refused, responseOf } from '../service.ts'
import { serviceOf } from '../service-address.ts'
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

/** How long to wait for an unreachable service. Short, because a person is waiting. */
const PATIENCE_MS = 5000
/** Longest wait for the response. 100,000 SIMs take half a minute, or minutes on a busy database. */
const TIMEOUT_MS = 5 * 60_000
/** Most rejected records shown, and most warnings. */
const SHOWN = 20

export interface SimImport {
  /** CSV, NDJSON or JSON, by the extension of its name. */
  readonly file: string
  readonly tenantId: string
  /** Only shows what would be created and rejected. */
  readonly dryRun: boolean
}

/**
 * Imports the SIMs of a file, and prints the result: with pool, tariff and usage, if they live at the carrier already.
 *
 * @throws CommandFailure if the file is refused, or if a record was rejected; the good records are created all the same
 */
export async function importSimFile(settings: Settings, { file, tenantId, dryRun }: SimImport): Promise<void> {
  const type = TYPES[extname(file).toLowerCase()]
  if (type === undefined) {
    throw new CommandFailure(`${file}: expected a file that ends in ${Object.keys(TYPES).join(', ')}`, ExitCode.usage)
  }
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandFailure(`${file} cannot be read: ${wordsOf(error)}`, ExitCode.notFound, { cause: error })
  })
  const { url, key } = await serviceOf(settings)
  const service = internalClient({ url, key, tenantId, patienceMs: PATIENCE_MS, timeoutMs: TIMEOUT_MS })
  try {
    const { created, rejected, warnings, warningCount, totals } = await responseOf(
      service.POST('/internal/sims', {
        params: { ...idempotent(randomUUID()), query: { dryRun } },
        body: bytes,
        ...delivered(new Uint8Array(bytes), { 'content-type': type }),
      }),
    )
    const counts: [string, number][] = [
      [dryRun ? 'would be created' : 'created', created.length],
      ['rejected', rejected.length],
      ['warnings', warningCount],
      ...takenOver(totals),
    ]
    if (dryRun) print('dry run: nothing was written')
    for (const line of table([], counts)) print(line)
    for (const line of [
      ...listed('rejected', rejected, rejected.length),
      ...listed('warnings', warnings, warningCount),
    ])
      print(line)
    if (rejected.length > 0) {
      throw new CommandFailure(
        `${rejected.length} of ${created.length + rejected.length} records ${dryRun ? 'would be' : 'were'} rejected`,
      )
    }
  } catch (error) {
    refused(error)
  }
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
  return ['', head, ...some.map(({ index, detail }) => `  record ${index}: ${detail}`)]
}
