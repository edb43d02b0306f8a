/** `simherd export <what> --tenant <id> [--out file]` */
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Settings } from '../config/index.ts'
import { CommandFailure, ExitCode, wordsOf } from './failures.ts'
import { download, exitCodeOf, ServiceAnswer } from './service.ts'
import { serviceOf } from './service-address.ts'

export interface ListExport {
  /** The list: the name of its path. */
  readonly what: string
  readonly tenantId: string
  /** Filters of the list, each `name=value`. */
  readonly filters: readonly string[]
  /** Digits that are names stay text in a spreadsheet program. */
  readonly spreadsheet: boolean
  /** A file that is written or replaced; left out: standard output. */
  readonly out?: string
}

/**
 * Writes a list as CSV. A file is there only once it is whole.
 *
 * @throws CommandFailure
 */
export async function exportList(settings: Settings, { what, tenantId, filters, spreadsheet, out }: ListExport) {
  const query = new URLSearchParams(filters.map(pairOf))
  if (spreadsheet) query.set('spreadsheet', 'true')
  const { url, key } = await serviceOf(settings)
  const csv = await download({ url, key, tenantId }, `/internal/exports/${what}.csv?${query.toString()}`).catch(refused)
  await (out === undefined ? toOutput(csv) : toFile(csv, out)).catch(brokenOff)
}

async function toFile(csv: Readable, out: string): Promise<void> {
  const part = `${out}.part`
  try {
    await pipeline(csv, createWriteStream(part))
    await rename(part, out)
  } finally {
    await rm(part, { force: true })
  }
}

/** Whoever reads it may stop doing so. */
const toOutput = (csv: Readable): Promise<void> =>
  pipeline(csv, process.stdout, { end: false }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error
  })

function refused(error: unknown): never {
  if (!(error instanceof ServiceAnswer)) throw error
  throw new CommandFailure([error.message, ...error.faults].join('\n  '), exitCodeOf(error), { cause: error })
}

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
