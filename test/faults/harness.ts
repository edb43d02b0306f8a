/** A service with servers that can be killed, and the steps of a fault test: make a herd, cause the fault, wait, check. */
import { expect } from 'vitest'
import type { Knobs } from '../../stack/carrier/knobs.ts'
import { ownServers } from '../setup/own-servers.ts'
import { startService } from '../setup/service.ts'
import { soon, until } from '../setup/soon.ts'
import { bringToTheMiddle, herdRules, raiseHerd } from './herd.ts'
import { lookAt, type Middle, type Report, reportOn, unfinished } from './outcome.ts'
import { openSources } from './witnesses.ts'

const SETTINGS = {
  CARRIER_TIMEOUT: 'PT1S',
  TICKET_RETRY_MIN: 'PT0.2S',
  TICKET_RETRY_MAX: 'PT2S',
  // So many that no outage here makes a ticket fail for good. A failed ticket is a bug.
  TICKET_ATTEMPTS: 100,
  POLL_MIN: 'PT1S',
  POLL_MAX: 'PT2S',
  MAIL_GROUP_FIRST: 'PT1S',
  MAIL_GROUP_NEXT: 'PT2S',
  MAIL_RETRY_MAX: 'PT2S',
} as const

const WELL: Knobs = { latencyMs: [0, 0], failureRate: 0, actsThenTimesOutRate: 0, lateMs: 3000, seed: 1 }
const WORKS: Partial<Knobs> = { latencyMs: [100, 300] }
/** Within CARRIER_TIMEOUT, but so slow that started operations are not done before the fault. */
const SLOW: Partial<Knobs> = { latencyMs: [700, 900] }

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

/** @param options withRedis: queues in Redis, which must be installed; else in PostgreSQL */
export async function openHarness(options: { readonly withRedis: boolean }) {
  const servers = await ownServers(options)
  const service = await startService(SETTINGS, servers).catch(async (error: unknown) => {
    await servers.stop()
    throw error
  })
  const sources = openSources(servers)
  await service.call('POST', '/internal/rules', '', { files: herdRules, author: 'the tests' })
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
  const herd = await raiseHerd(service, sources, share)
  const hold = (slow: boolean) => servers.carrier.turn(slow ? { ...knobs, ...SLOW } : { ...WORKS, ...knobs })
  await bringToTheMiddle(service, herd, hold)
  const middle = await lookAt(herd)
  const struckAt = performance.now()
  await strike?.(harness)
  let left: string | undefined
  const isQuiet = async () => {
    left = await unfinished(herd).catch((error: Error) => error.message)
    return left === undefined
  }
  await until('the end of all work', isQuiet, QUIET_WITHIN_SECONDS).catch((error: Error) => {
    throw new Error(`${error.message}: ${left}`)
  })
  const quietAfterSeconds = Math.round((performance.now() - struckAt) / 1000)
  // Temporal's lists of workflows lag a little.
  const report = await soon(async () => {
    const seen = await reportOn(service, herd)
    expect(seen.faults).toEqual([])
    return seen
  })
  return { middle, report, quietAfterSeconds }
}

const COLUMNS: readonly (readonly [string, (fault: Fault, played: Played) => string | number])[] = [
  ['fault', ({ name }) => name],
  ['not settled', (_, { middle }) => `${middle.size - middle.settled} of ${middle.size}`],
  ['workflows running', (_, { middle }) => middle.running],
  ['tickets open', (_, { middle }) => middle.openTickets],
  ['quiet after', (_, { quietAfterSeconds }) => `${quietAfterSeconds} s`],
  ['outcomes', (_, { report }) => report.outcomes],
  ['tickets, all complete', (_, { report }) => report.tickets],
  ['effects', (_, { report }) => report.effects],
  ['effects twice', (_, { report }) => report.doubles],
  ['calls that failed', (_, { report }) => report.failed],
  ['calls repeated', (_, { report }) => report.repeated],
  ['wrong states', (_, { report }) => report.wrongStates],
  ['mails', (_, { report }) => report.mails],
  ['mails received twice', (_, { report }) => report.mailsTwice],
]

/** The faults and their reports, as a Markdown table. */
export function tableOf(all: readonly (readonly [Fault, Played])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  const rows = all.map(([fault, played]) => line(COLUMNS.map(([, cell]) => cell(fault, played))))
  return [line(COLUMNS.map(([name]) => name)), line(COLUMNS.map(() => '---')), ...rows].join('\n')
}
