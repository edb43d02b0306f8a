/** `simherd tickets bulk <type>` */

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type InternalClient, idempotent } from '../../adapters/rest/client.ts'
import type { components } from '../../adapters/rest/internal.d.ts'
import type { SimStatus } from '../../domain/codes.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { counted } from '../../domain/quantity.ts'
import type { BulkPlan, BulkRequest, BulkType } from '../../domain/tickets/bulk.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { print } from '../print.ts'
import { createReporter } from '../reporter.ts'
import { delivered, responseOf } from '../service.ts'
import { table } from '../table.ts'

/** Options of `simherd tickets bulk`. */
export interface BulkFlags extends TenantFlags {
  readonly file?: string
  readonly search?: string
  readonly filterStatus?: SimStatus
  readonly filterPool?: number
  readonly all?: boolean
  readonly pool?: number
  readonly tariff?: number
  readonly tag?: string
  readonly message?: string
  readonly dryRun?: boolean
  readonly wait?: boolean
}

type Run = components['schemas']['BulkRunDetail']

const LOOK_EVERY_MS = 1000
/** Refused SIMs that a dry run shows. The interface returns up to a thousand. */
const SHOWN = 20

/**
 * Requests a ticket on each of many SIMs. As a dry run, shows which SIMs would get one.
 *
 * @throws CommandFailure if the service refuses the whole request, or, with `wait`, if a ticket has failed
 */
export async function bulkTickets(settings: Settings, type: BulkType, flags: BulkFlags): Promise<void> {
  const asked = await askOf(type, flags)
  await askService({ settings, tenantId: flags.tenant }, async (service) => {
    const run = await responseOf(service.POST('/internal/bulk-tickets', asked))
    if ('touched' in run) return printPlan(run)
    print(
      `bulk run ${run.id}: ${counted(run.total - run.refused, 'SIM')} to get a ticket, ${run.refused} refused so far`,
    )
    if (flags.wait === true) printEnd(await waitFor(service, run))
  })
}

/**
 * Builds the request from the options.
 *
 * @throws CommandFailure if the options name no SIMs, or name them in two ways
 */
async function askOf(type: BulkType, flags: BulkFlags) {
  const { file, search, filterStatus: status, filterPool: poolId } = flags
  const filter = dropUndefined({ search, status, poolId })
  const filtered = Object.keys(filter).length > 0
  if ([file !== undefined, filtered, flags.all === true].filter(Boolean).length !== 1) {
    throw new CommandFailure(
      'say which SIMs, in one way: --file, --all, or filters (--search, --filter-status, --filter-pool)',
      ExitCode.usage,
    )
  }
  const fields = {
    type,
    ...dropUndefined({ poolId: flags.pool, tariffId: flags.tariff, tag: flags.tag, message: flags.message }),
    ...(flags.dryRun === true && { dryRun: true }),
  }
  const { header } = idempotent()
  if (file === undefined) {
    const body: BulkRequest = { ...fields, sims: { filter } }
    return { params: { header }, body }
  }
  const bytes = await readFile(file).catch((error: Error) => {
    throw new CommandFailure(`--file: ${error.message}`, ExitCode.usage, { cause: error })
  })
  // The serializer sends the bytes unchanged.
  const csv = delivered(new Uint8Array(bytes), { 'content-type': 'text/csv' })
  return { params: { header, query: fields }, body: '', ...csv }
}

function printPlan({ total, touched, refused }: BulkPlan): void {
  print(`dry run: of ${counted(total, 'SIM')} ${touched.count} would get a ticket, ${refused.count} would be refused`)
  printRefusals('refused because', refused.byCode)
  for (const { index, iccid, detail } of refused.sims.slice(0, SHOWN))
    print(`  ${index + 1}. ${iccid ?? ''}: ${detail}`)
  if (refused.count > SHOWN) print(`  … and ${refused.count - SHOWN} more`)
}

/** Prints the refused SIMs by code, under a heading; nothing if there are none. */
export function printRefusals(heading: string, refusals: readonly { code: string; count: number }[]): void {
  if (refusals.length === 0) return
  const rows = refusals.map(({ code, count }) => [code, count])
  for (const line of table([heading, 'SIMs'], rows)) print(line)
}

/** Polls a run until all its tickets have ended. */
const waitFor = (service: InternalClient, run: Run): Promise<Run> =>
  createReporter().step({ doing: `${run.total} tickets`, done: 'every ticket has ended' }, async (note) => {
    for (let last = run; ; await sleep(LOOK_EVERY_MS)) {
      last = await responseOf(service.GET('/internal/bulk-tickets/{id}', { params: { path: { id: run.id } } }))
      const counts = Object.entries(last.counts).filter(([, count]) => count > 0)
      note(counts.map(([outcome, count]) => `${count} ${outcome}`).join(', '))
      const { waiting, pending, processing } = last.counts
      if (waiting + pending + processing === 0) return last
    }
  })

function printEnd(run: Run): void {
  const counts = Object.entries(run.counts).filter(([, count]) => count > 0)
  for (const line of table(['outcome', 'SIMs'], counts)) print(line)
  printRefusals('refused because', run.refusals)
  const { failed } = run.counts
  if (failed === 0) return
  throw new CommandFailure(
    `${counted(failed, 'ticket')} failed: GET /internal/bulk-tickets/${run.id}/items?outcome=failed says why`,
  )
}
