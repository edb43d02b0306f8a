/** Takes every unprovisioned SIM to active, each by its own workflow. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { InternalClient } from '../../adapters/rest/client.ts'
import { SimStatus } from '../../domain/codes.ts'
import { counted } from '../../domain/quantity.ts'
import type { Reporting } from '../reporter.ts'
import { ProblemResponse, responseOf } from '../service.ts'
import type { Play } from './prepare.ts'
import { allSims, assignmentOf, type SetUp } from './set-up.ts'

/** Workflows that run at once. Enough to keep two cores busy, few enough that none waits long. */
const PARALLEL = 40
const LOOK_EVERY_MS = 500
/**
 * After this time without progress, the remaining workflows are started again. After three such restarts, something is
 * wrong.
 */
const STALLED_MS = 30_000
const ROUNDS = 4

/**
 * Takes all unprovisioned SIMs of the estate to Active. Refused SIMs stay unchanged.
 *
 * @returns how many were activated
 * @throws Error if SIMs are still not active after all rounds
 */
export async function activateSims(play: Play, ids: SetUp, { reporter, signal }: Reporting): Promise<number> {
  const ofEstate = new Map(play.script.estate.sims.map((sim) => [sim.iccid, sim]))
  const refused = new Set<number>()
  let activated = 0
  for (let round = 1; ; round += 1) {
    const sims = await allSims(play.api)
    const waiting = sims.filter(({ id, status }) => status === SimStatus.Unprovisioned && !refused.has(id))
    if (waiting.length === 0) return activated
    if (round > ROUNDS) throw new Error(stuck(waiting, play.stack.temporalUiUrl))
    if (round > 1) reporter.warn(`${counted(waiting.length, 'SIM')} not active yet; started again`)
    const jobs = waiting.flatMap(({ id, iccid }) => {
      const sim = ofEstate.get(iccid)
      return sim === undefined ? [] : { simId: id, ...assignmentOf(sim, ids), tag: sim.tag }
    })
    if (jobs.length === 0) return activated
    activated += await reporter.step(
      {
        doing: `${jobs.length} SIMs: provision ticket, activate ticket, each by a workflow`,
        done: `${jobs.length} SIMs provisioned and activated`,
      },
      (note) => runWorkflows(play, jobs, refused, { note, signal }),
    )
  }
}

const stuck = (sims: readonly { readonly iccid: string }[], ui: string | null) =>
  `${counted(sims.length, 'SIM')} did not become active, ${sims[0]?.iccid ?? ''} for one: look at their workflows${ui === null ? '' : ` at ${ui}`}`

interface Job {
  readonly simId: number
}

/**
 * Runs at most {@link PARALLEL} workflows at once.
 *
 * @returns how many SIMs became active
 */
async function runWorkflows(
  { internal }: Play,
  jobs: readonly Job[],
  refused: Set<number>,
  { note, signal }: { readonly note: (text: string) => void; readonly signal: AbortSignal },
): Promise<number> {
  const activeNow = async () => (await responseOf(internal.GET('/internal/counts'))).simsByStatus['Active'] ?? 0
  const refusedBefore = refused.size
  const before = await activeNow()
  let started = 0
  let done = 0
  let ended = 0
  let movedAt = performance.now()
  while (ended < jobs.length) {
    const batch = jobs.slice(started, ended + PARALLEL)
    await Promise.all(
      batch.map(async (job) => {
        if (!(await startOne(internal, job, signal))) refused.add(job.simId)
      }),
    )
    started += batch.length
    const count = (await activeNow()) - before
    if (count !== done || batch.length > 0) movedAt = performance.now()
    done = count
    ended = done + refused.size - refusedBefore
    note(`${done} active, ${started - ended} under way`)
    if (performance.now() - movedAt > STALLED_MS) return done
    if (ended < jobs.length) await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
  return done
}

/** @returns false if the service refuses the start because of the SIM's state */
async function startOne(internal: InternalClient, job: Job, signal: AbortSignal): Promise<boolean> {
  try {
    await responseOf(internal.POST('/internal/workflows/provision-and-activate', { body: job, signal }))
    return true
  } catch (error) {
    if (error instanceof ProblemResponse && error.status === 409) return false
    throw error
  }
}
