/** `simherd export <what> --tenant <id> [--out file]` */
import { open, rename, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { paths as InternalPaths } from '../../adapters/rest/internal.d.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { streamOf } from '../service.ts'

/** The lists that can be exported, by the names of their paths. */
type ListName<Path> = Path extends `/internal/exports/${infer Name}.csv` ? Name : never
export type ExportedList = ListName<keyof InternalPaths>

/** A list of millions may take up to an hour. */
const TIMEOUT_MS = 3_600_000

interface ExportFlags extends TenantFlags {
  /** Filters of the list, each as `name=value`. */
  readonly filter: readonly string[]
  /** Identifiers of digits stay text in a spreadsheet program. */
  readonly spreadsheet?: boolean
  /** The file to write or replace. Default: standard output. */
  readonly out?: string
}

/**
 * Writes a list as CSV. The file appears only when it is complete.
 *
 * @throws CommandFailure if the service refuses, the file cannot be written, or the export breaks off
 */
export async function exportList(settings: Settings, what: ExportedList, flags: ExportFlags): Promise<void> {
  const { tenant: tenantId, filter, spreadsheet, out } = flags
  const query = new URLSearchParams(filter.map(pairOf))
  if (spreadsheet === true) query.set('spreadsheet', 'true')
  const csv = () =>
    askService({ settings, tenantId, timeoutMs: TIMEOUT_MS, streams: true }, (service) =>
      streamOf(
        service.GET(`/internal/exports/${what}.csv`, {
          params: { query: {} },
          querySerializer: () => query.toString(),
          parseAs: 'stream',
        }),
      ),
    )
  await (out === undefined ? toOutput(await csv()).catch(brokenOff) : toFile(csv, out))
}

async function toFile(csv: () => Promise<Readable>, out: string): Promise<void> {
  const part = `${out}.part`
  const file = await open(part, 'w').catch((error: unknown) => {
    throw new CommandFailure(`--out ${out} cannot be written: ${wordsOf(error)}`, ExitCode.usage, { cause: error })
  })
  try {
    await pipeline(await csv(), file.createWriteStream()).catch(brokenOff)
    await rename(part, out)
  } finally {
    await file.close()
    await rm(part, { force: true })
  }
}

/** Writes to standard output. Its reader may close it early, without a failure. */
const toOutput = (csv: Readable): Promise<void> =>
  pipeline(csv, process.stdout, { end: false }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error
  })

function brokenOff(error: unknown): never {
  throw new CommandFailure(`the export ended before it was whole: ${wordsOf(error)}`, ExitCode.failure, {
    cause: error,
  })
}

function pairOf(filter: string): [string, string] {
  const at = filter.indexOf('=')
  if (at > 0) return [filter.slice(0, at), filter.slice(at + 1)]
  throw new CommandFailure(`--filter ${filter}: expected name=value, such as status=1`, ExitCode.usage)
}
