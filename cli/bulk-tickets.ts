/** `simherd tickets bulk <type>` */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import type { Settings } from '../config/index.ts'
import { CommandFailure, ExitCode } from './failures.ts'
import { type Caller, caller, type Delivery, ServiceAnswer } from './service.ts'
import { serviceOf } from './service-address.ts'
import { createTell } from './start/tell.ts'
import { table } from './table.ts'

/** What `simherd tickets bulk` was asked for. */
export interface BulkFlags {
  readonly tenant: string
  readonly file?: string
  readonly search?: string
  readonly filterStatus?: number
  readonly filterPool?: number
  readonly all?: boolean
  readonly pool?: number
  readonly tariff?: number
  readonly tag?: string
  readonly message?: string
  readonly dryRun?: boolean
  readonly wait?: boolean
}

const Refusals = Type.Array(Type.Object({ code: Type.String(), count: Type.Integer() }))
const Plan = Type.Object({
  total: Type.Integer(),
  touched: Type.Object({ count: Type.Integer() }),
  refused: Type.Object({
    count: Type.Integer(),
    byCode: Refusals,
    sims: Type.Array(
      Type.Object({
        index: Type.Integer(),
        iccid: Type.Union([Type.String(), Type.Null()]),
        code: Type.String(),
        detail: Type.String(),
      }),
    ),
  }),
})
const Run = Type.Object({
  id: Type.String(),
  state: Type.String(),
  total: Type.Integer(),
  notYetOpened: Type.Integer(),
  refused: Type.Integer(),
  counts: Type.Record(Type.String(), Type.Integer()),
  refusals: Refusals,
})
type Run = Static<typeof Run>

/** A person waits. */
const PATIENCE_MS = 10_000
const LOOK_EVERY_MS = 1000
/** Refused SIMs that a dry run shows; the interface tells a thousand. */
const SHOWN = 20

/**
 * Asks for a ticket on each of many SIMs, or, as a dry run, which SIMs would get one.
 *
 * @throws CommandFailure where the service refuses the whole, or, when waited for, where a ticket has failed
 */
export async function bulkTickets(settings: Settings, type: string, flags: BulkFlags): Promise<void> {
  const { query, body } = await askOf(type, flags)
  const { url, key } = await serviceOf(settings)
  const service = caller({ url, key, tenantId: flags.tenant, patienceMs: PATIENCE_MS })
  const path = `/internal/bulk-tickets?${query.toString()}`
  try {
    if (flags.dryRun === true) {
      tellPlan(await service.post(path, body, Plan))
      return
    }
    const run = await service.post(path, body, Run, { once: crypto.randomUUID() })
    console.log(`bulk run ${run.id}: ${run.total - run.refused} SIM(s) get a ticket, ${run.refused} refused so far`)
    if (flags.wait === true) tellEnd(await waitFor(service, run))
  } catch (error) {
    if (!(error instanceof ServiceAnswer)) throw error
    const exitCode = { 404: ExitCode.notFound, 409: ExitCode.conflict }[error.status] ?? ExitCode.failure
    const faults = error.faults.map((fault) => `\n  ${fault}`).join('')
    throw new CommandFailure(`${error.message}${faults}`, exitCode, { cause: error })
  }
}

/** The request that flags mean. @throws CommandFailure where they name no SIMs, or name them in two ways */
async function askOf(type: string, flags: BulkFlags): Promise<{ query: URLSearchParams; body: object | Delivery }> {
  const { file, search, filterStatus: status, filterPool: poolId } = flags
  const filter = { search, status, poolId }
  const filtered = Object.values(filter).some((value) => value !== undefined)
  if ([file !== undefined, filtered, flags.all === true].filter(Boolean).length !== 1) {
    throw new CommandFailure(
      'which SIMs? One of --file, --all, or filters (--search, --filter-status, --filter-pool)',
      ExitCode.usage,
    )
  }
  const fields = { poolId: flags.pool, tariffId: flags.tariff, tag: flags.tag, message: flags.message }
  const given = Object.entries({ ...fields, ...(flags.dryRun === true ? { dryRun: true } : {}) })
  if (file === undefined)
    return { query: new URLSearchParams(), body: { type, sims: { filter }, ...Object.fromEntries(given) } }
  const query = new URLSearchParams({ type })
  for (const [name, value] of given) if (value !== undefined) query.set(name, String(value))
  const bytes = await readFile(file).catch((error: Error) => {
    throw new CommandFailure(`--file: ${error.message}`, ExitCode.usage, { cause: error })
  })
  return { query, body: { bytes: new Uint8Array(bytes), headers: { 'content-type': 'text/csv' } } }
}

function tellPlan({ total, touched, refused }: Static<typeof Plan>): void {
  console.log(`dry run: of ${total} SIM(s) ${touched.count} would get a ticket, ${refused.count} would be refused`)
  tellRefusals(refused.byCode)
  for (const { index, iccid, detail } of refused.sims.slice(0, SHOWN))
    console.log(`  ${index + 1}. ${iccid ?? ''}: ${detail}`)
  if (refused.count > SHOWN) console.log(`  … and ${refused.count - SHOWN} more`)
}

function tellRefusals(refusals: Static<typeof Refusals>): void {
  if (refusals.length === 0) return
  for (const line of table(
    ['refused because', 'SIMs'],
    refusals.map(({ code, count }) => [code, count]),
  ))
    console.log(line)
}

/** Looks at a run until all its tickets have ended. */
const waitFor = (service: Caller, run: Run): Promise<Run> =>
  createTell().step({ doing: `${run.total} tickets`, done: 'every ticket has ended' }, async (note) => {
    for (let last = run; ; await sleep(LOOK_EVERY_MS)) {
      last = await service.get(`/internal/bulk-tickets/${run.id}`, Run)
      const counts = Object.entries(last.counts).filter(([, count]) => count > 0)
      note(counts.map(([outcome, count]) => `${count} ${outcome}`).join(', '))
      const underWay = ['waiting', 'pending', 'processing'].some((outcome) => (last.counts[outcome] ?? 0) > 0)
      if (!underWay) return last
    }
  })

function tellEnd(run: Run): void {
  const counts = Object.entries(run.counts).filter(([, count]) => count > 0)
  for (const line of table(['outcome', 'SIMs'], counts)) console.log(line)
  tellRefusals(run.refusals)
  const failed = run.counts['failed'] ?? 0
  if (failed === 0) return
  throw new CommandFailure(
    `${failed} ticket(s) have failed: GET /internal/bulk-tickets/${run.id}/items?outcome=failed says why`,
  )
}
