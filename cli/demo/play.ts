/**
 * The demonstration: the main job, from SIMs as delivered to the month's statement, through the HTTP interfaces.
 *
 *   estate ─▶ activate ─▶ choose a cycle ─▶ queue changes · deliver usage ─▶ month end ─▶ summary
 *
 * Every step first looks at what exists. An interrupted demonstration resumes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { demoEstate } from '../../examples/estate.ts'
import { wordsOf } from '../failures.ts'
import { type Reporter, type Reporting, span } from '../reporter.ts'
import { ProblemResponse, responseOf } from '../service.ts'
import { activateSims } from './activate.ts'
import { chooseCycle, mapOnto } from './mapping.ts'
import { awaitMonthEnd, awaitRest } from './month-end.ts'
import { DEMO_CYCLE, type Play } from './prepare.ts'
import type { Mapping } from './progress.ts'
import { queueChanges } from './queue-changes.ts'
import { replayUsage } from './replay.ts'
import { type SetUp, setUp } from './set-up.ts'
import { printSummary, summarise } from './summary.ts'
import { FILE_MONTH, readUsageFile } from './usage-file.ts'

/** @returns how it ended; `running` after an abort by `signal`: it continues at the next start */
export async function playDemo(play: Play, { reporter, signal }: Reporting): Promise<'running' | 'done' | 'failed'> {
  const began = performance.now()
  reporter.heading(
    `Demonstration: ${demoEstate().tenant.name} and its 300 SIMs live through October in one cycle of 5 minutes`,
  )
  try {
    await perform(play, { reporter, signal })
    await play.note({ state: 'done' })
    reporter.say('')
    reporter.say(`The demonstration took ${span(performance.now() - began)}.`)
    return 'done'
  } catch (error) {
    if (signal.aborted) {
      reporter.say('The demonstration is broken off; it goes on with the next "npm start".')
      return 'running'
    }
    await play.note({ state: 'failed' })
    reporter.warn(`The demonstration failed: ${wordsOf(error)}`)
    reporter.say(
      `Everything stays up, so that you can look. "npm start" tries to go on, "npm start -- --fresh" begins anew.`,
    )
    return 'failed'
  }
}

async function perform(play: Play, { reporter, signal }: Reporting): Promise<void> {
  const estate = demoEstate()
  const rows = await readUsageFile()
  await setSchedule(play, 'resume', signal)
  const ids = await reporter.step(
    `estate: ${estate.tariffs.length} tariffs, ${estate.pools.length} pools, ${estate.sims.length} SIMs`,
    () => setUp(play, estate),
  )
  const mapping = (await keptMapping(play, reporter)) ?? (await begin(play, ids, { reporter, signal }))

  if (Date.now() < mapping.onto.from) {
    await reporter.step({ doing: 'waiting for the next cycle', done: 'the next cycle has begun' }, () =>
      sleep(mapping.onto.from - Date.now(), undefined, { signal }),
    )
  }
  const { changesQueued } = await play.note({})
  if (!changesQueued && Date.now() < mapping.cycle.endsAt) {
    await queueChanges(play, estate, ids, reporter)
    await play.note({ changesQueued: true })
  }
  reporter.say(
    `${rows.length.toLocaleString('en-US')} usage records of October are delivered until ${clock(mapping.onto.to)}`,
  )
  await replayUsage(play, rows, mapping, { reporter, signal })
  await awaitMonthEnd(play, mapping, reporter, signal)
  await setSchedule(play, 'pause', signal)
  await awaitRest(play, reporter, signal)

  reporter.heading(`What came of it, read back through the interfaces (cycle ${mapping.cycle.key})`)
  printSummary(await summarise(play, mapping, rows.length), reporter)
  reporter.say('')
  reporter.say("The tenant's Schedule is paused, so that no more cycles of 5 minutes are billed. To let it go on:")
  reporter.say(`  ${dataDirWord(play.dataDir)}npx simherd schedule resume --tenant ${play.progress.tenantId}`)
}

const clock = (at: number) => `${new Date(at).toISOString().slice(11, 19)} UTC`
const dataDirWord = (dataDir: string) => (dataDir === `${process.cwd()}/.data` ? '' : `DATA_DIR=${dataDir} `)

/** The mapping of an interrupted demonstration. Undefined if its cycle ended before anything was counted. */
async function keptMapping({ note, internal }: Play, reporter: Reporter): Promise<Mapping | undefined> {
  const { mapping } = await note({})
  if (mapping === null) return undefined
  const cycles = await responseOf(internal.GET('/internal/cycles'))
  const counted = cycles.find(({ key }) => key === mapping.cycle.key)?.recordsAccepted ?? 0
  if (counted === 0 && Date.now() > mapping.onto.to) return undefined
  reporter.say(`The demonstration goes on where it stopped, in cycle ${mapping.cycle.key}.`)
  return mapping
}

/** Activates the SIMs and chooses the cycle. Stores both ends of the mapping before the first record. */
async function begin(play: Play, ids: SetUp, { reporter, signal }: Reporting): Promise<Mapping> {
  await activateSims(play, demoEstate(), ids, { reporter, signal })
  const now = Date.now()
  const { cycle, waitMs } = chooseCycle(DEMO_CYCLE, now)
  if (waitMs > 0) {
    reporter.say(
      `Less than two minutes of this cycle are left: waiting ${span(waitMs)} for the next one, ${cycle.key}.`,
    )
  }
  const mapping = mapOnto(cycle, now, FILE_MONTH)
  await play.note({ mapping, changesQueued: false, posted: 0, answered: { accepted: 0, duplicates: 0, rejected: 0 } })
  return mapping
}

/** How often to try. A worker's sweep makes the Schedule of a new tenant within seconds. */
const SCHEDULE_TRIES = 60

async function setSchedule({ internal }: Play, action: 'pause' | 'resume', signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await responseOf(internal.POST(`/internal/schedules/month-end/${action}`))
      return
    } catch (error) {
      const missing = error instanceof ProblemResponse && error.status === 404
      if (!missing || tries === SCHEDULE_TRIES) throw error
      await sleep(500, undefined, { signal })
    }
  }
}
