/** A service whose every server can be killed, and the play of a fault on it: raise a herd, strike, wait, ask. */
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
  // No outage here is long enough for a ticket to fail for good: one that fails is a fault of ours.
  TICKET_ATTEMPTS: 100,
  POLL_MIN: 'PT1S',
  POLL_MAX: 'PT2S',
  MAIL_GROUP_FIRST: 'PT1S',
  MAIL_GROUP_NEXT: 'PT2S',
  MAIL_RETRY_MAX: 'PT2S',
} as const

const WELL: Knobs = { latencyMs: [0, 0], failureRate: 0, actsThenTimesOutRate: 0, lateMs: 3000, seed: 1 }
const WORKS: Partial<Knobs> = { latencyMs: [100, 300] }
/** Within CARRIER_TIMEOUT, and slow enough that what is begun is not done before the fault strikes. */
const HOLDS_BACK: Partial<Knobs> = { latencyMs: [700, 900] }

/** The worst that is waited for without a word: what a worker had claimed comes back after a minute, a mail after five. */
const QUIET_WITHIN_SECONDS = 600

export interface Fault {
  readonly name: string
  /** Share of the 200 SIMs; left out: all of them. */
  readonly share?: number
  /** How the carrier behaves from the first of them on. */
  readonly knobs?: Partial<Knobs>
  /** @returns when what was killed is back */
  readonly strike?: (harness: Harness) => Promise<unknown>
}

/** @param withRedis queues in a Redis, which has to be installed; else in PostgreSQL */
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

/** Kills a process that is supervised. @returns when the next one has begun */
export async function killSupervised(child: { readonly pid: () => number | undefined }): Promise<void> {
  const pid = child.pid()
  if (pid === undefined) throw new Error('there is no process to kill')
  process.kill(pid, 'SIGKILL')
  await until('the supervisor starts it again', async () => ![undefined, pid].includes(child.pid()), 120)
}

export interface Played {
  readonly middle: Middle
  readonly report: Report
  readonly quietAfterSeconds: number
}

/** Plays a fault on a herd of its own. */
export async function play(harness: Harness, { share = 1, knobs = {}, strike }: Fault): Promise<Played> {
  const { servers, service, sources } = harness
  await servers.carrier.turn(WELL)
  const herd = await raiseHerd(service, sources, share)
  const hold = (slow: boolean) => servers.carrier.turn(slow ? { ...knobs, ...HOLDS_BACK } : { ...WORKS, ...knobs })
  await bringToTheMiddle(service, herd, hold)
  const middle = await lookAt(herd)
  const struckAt = performance.now()
  await strike?.(harness)
  let left: string | undefined
  const isQuiet = async () => {
    left = await unfinished(herd).catch((error: Error) => error.message)
    return left === undefined
  }
  await until('all is quiet', isQuiet, QUIET_WITHIN_SECONDS, 1000).catch((error: Error) => {
    throw new Error(`${error.message}: ${left}`)
  })
  const quietAfterSeconds = Math.round((performance.now() - struckAt) / 1000)
  // Lists of workflows are behind a little.
  const report = await soon(async () => {
    const seen = await reportOn(service, herd)
    expect(seen.faults).toEqual([])
    return seen
  })
  return { middle, report, quietAfterSeconds }
}

const COLUMNS: readonly (readonly [string, (fault: Fault, played: Played) => string | number])[] = [
  ['fault', ({ name }) => name],
  ['under way of', (_, { middle }) => `${middle.size - middle.settled} of ${middle.size}`],
  ['workflows running', (_, { middle }) => middle.running],
  ['tickets open', (_, { middle }) => middle.openTickets],
  ['quiet after', (_, { quietAfterSeconds }) => `${quietAfterSeconds} s`],
  ['outcomes', (_, { report }) => report.outcomes],
  ['tickets, all complete', (_, { report }) => report.tickets],
  ['effects', (_, { report }) => report.effects],
  ['of a ticket twice', (_, { report }) => report.doubles],
  ['failed by the carrier', (_, { report }) => report.failed],
  ['asked again', (_, { report }) => report.repeated],
  ['wrong states', (_, { report }) => report.wrongStates],
  ['mails', (_, { report }) => report.mails],
  ['came twice', (_, { report }) => report.mailsTwice],
]

/** What was played, as a table in Markdown. */
export function tableOf(all: readonly (readonly [Fault, Played])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  const rows = all.map(([fault, played]) => line(COLUMNS.map(([, cell]) => cell(fault, played))))
  return [line(COLUMNS.map(([name]) => name)), line(COLUMNS.map(() => '---')), ...rows].join('\n')
}
