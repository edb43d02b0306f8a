/** A service with servers that can be killed, and the steps of a fault test: make a herd, cause the fault, wait, check. */
import { expect } from 'vitest'
import type { Settings } from '../../process/settings.ts'
import type { Knobs } from '../../stack/carrier/knobs.ts'
import { ownServers } from '../setup/own-servers.ts'
import { startService } from '../setup/service.ts'
import { soon, until } from '../setup/soon.ts'
import { bringToTheMiddle, herdRules, raiseHerd, sizesOf } from './herd.ts'
import { lookAt, type Middle, type Report, reportOn, untilDone } from './outcome.ts'
import { markdown } from './table.ts'
import { openSources } from './witnesses.ts'

const SETTINGS = {
  CARRIER_TIMEOUT: 'PT1S',
  TICKET_RETRY_MIN: 'PT0.2S',
  TICKET_RETRY_MAX: 'PT2S',
  // So many that no outage here makes a ticket fail for good. A failed ticket is a bug.
  TICKET_ATTEMPTS: 100,
  MAIL_GROUP_FIRST: 'PT1S',
  MAIL_GROUP_NEXT: 'PT2S',
  MAIL_RETRY_MAX: 'PT2S',
} as const

const WELL: Knobs = {
  latencyMs: [0, 0],
  failureRate: 0,
  actsThenTimesOutRate: 0,
  lateMs: 3000,
  refusesSecret: false,
  seed: 1,
}
const WORKS: Partial<Knobs> = { latencyMs: [100, 300] }
/** Within CARRIER_TIMEOUT, but so slow that started operations are not done before the fault. */
const SLOW: Partial<Knobs> = { latencyMs: [700, 900] }

/** How long a killed server is away: longer than connections, sweeps and queues wait before they try again. */
export const AWAY_MS = 3000
/** Longer than the client retries a call to Temporal (CALL_TIMEOUT_MS, adapters/temporal/client.ts): so callers must retry. */
export const TEMPORAL_AWAY_MS = 12_000

/** Time limit for all work to end. A killed worker's claim is free after a minute, its mail after five. */
const QUIET_WITHIN_SECONDS = 600

export interface Fault {
  readonly name: string
  /** Share of the 200 SIMs. Default: all. */
  readonly share?: number
  /** The carrier's knobs, from the first workflow on. */
  readonly knobs?: Partial<Knobs>
  /** Causes the fault. @returns when the killed process is back */
  readonly strike?: (harness: Harness) => Promise<unknown>
}

interface HarnessOptions {
  /** Queues in Redis (must be installed); else in PostgreSQL. */
  readonly withRedis: boolean
  /** How many APIs, and how many workers. */
  readonly each?: number
  readonly settings?: Partial<Settings>
  /** In force. Default: those of herds. */
  readonly rules?: readonly { readonly file: string; readonly text: string }[]
}

export async function openHarness({ withRedis, each = 1, settings = {}, rules = herdRules }: HarnessOptions) {
  const servers = await ownServers({ withRedis })
  const service = await startService({ ...SETTINGS, ...settings }, servers, each).catch(async (error: unknown) => {
    await servers.stop()
    throw error
  })
  const sources = openSources(servers)
  await service.call('POST', '/internal/rules', '', { files: rules, author: 'the tests' })
  return {
    servers,
    service,
    sources,
    close: async () => {
      await sources.close()
      await service.stop()
    },
  }
}
export type Harness = Awaited<ReturnType<typeof openHarness>>

/** Kills a supervised process. @returns when its successor has started */
export async function killSupervised(child: { readonly pid: () => number | undefined }): Promise<void> {
  const pid = child.pid()
  if (pid === undefined) throw new Error('there is no process to kill')
  process.kill(pid, 'SIGKILL')
  await until('a restart by the supervisor', async () => ![undefined, pid].includes(child.pid()), 120)
}

export interface Played {
  readonly middle: Middle
  readonly report: Report
  readonly quietAfterSeconds: number
}

/** Causes a fault in the middle of a new herd's work, waits until all work has ended, and reports. */
export async function play(harness: Harness, { share = 1, knobs = {}, strike }: Fault): Promise<Played> {
  const { servers, service, sources } = harness
  await servers.carrier.turn(WELL)
  const herd = await raiseHerd(service, sources, sizesOf(share))
  const hold = (slow: boolean) => servers.carrier.turn(slow ? { ...knobs, ...SLOW } : { ...WORKS, ...knobs })
  await bringToTheMiddle(service, herd, hold)
  const middle = await lookAt(herd)
  const struckAt = performance.now()
  await strike?.(harness)
  await untilDone(herd, QUIET_WITHIN_SECONDS)
  const quietAfterSeconds = Math.round((performance.now() - struckAt) / 1000)
  // Temporal's lists of workflows lag a little.
  const report = await soon(async () => {
    const seen = await reportOn(herd, await service.mails())
    expect(seen.faults).toEqual([])
    return seen
  })
  return { middle, report, quietAfterSeconds }
}

const REPORT_COLUMNS: readonly (readonly [string, (report: Report) => string | number])[] = [
  ['outcomes', ({ outcomes }) => outcomes],
  ['tickets, all complete', ({ tickets }) => tickets],
  ['effects', ({ effects }) => effects],
  ['effects twice', ({ doubles }) => doubles],
  ['calls that failed', ({ failed }) => failed],
  ['calls repeated', ({ repeated }) => repeated],
  ['wrong states', ({ wrongStates }) => wrongStates],
  ['mails', ({ mails }) => mails],
  ['mails received twice', ({ mailsTwice }) => mailsTwice],
]
const COLUMNS: readonly (readonly [string, (fault: Fault, played: Played) => string | number])[] = [
  ['fault', ({ name }) => name],
  ['not settled', (_, { middle }) => `${middle.size - middle.settled} of ${middle.size}`],
  ['workflows running', (_, { middle }) => middle.running],
  ['tickets open', (_, { middle }) => middle.openTickets],
  ['quiet after', (_, { quietAfterSeconds }) => `${quietAfterSeconds} s`],
  ...REPORT_COLUMNS.map(([name, cell]) => [name, (_: Fault, { report }: Played) => cell(report)] as const),
]
const namesOf = (columns: readonly (readonly [string, unknown])[]) => columns.map(([name]) => name)

/** The faults and their reports, as a Markdown table. */
export const tableOf = (all: readonly (readonly [Fault, Played])[]): string =>
  markdown(
    namesOf(COLUMNS),
    all.map(([fault, played]) => COLUMNS.map(([, cell]) => cell(fault, played))),
  )

/** Reports alone, as a Markdown table. */
export const reportTable = (reports: readonly Report[]): string =>
  markdown(
    namesOf(REPORT_COLUMNS),
    reports.map((report) => REPORT_COLUMNS.map(([, cell]) => cell(report))),
  )
