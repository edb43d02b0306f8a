/**
 * The demonstrations, played through the HTTP interfaces: the watchdog over four fifths of a billing cycle, or a month
 * with its end.
 *
 *   choose a cycle ─▶ estate ─▶ activate ─▶ deliver usage ─▶ first alert or month end ─▶ summary
 *
 * Every step first looks at what exists. An interrupted demonstration resumes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idempotent } from '../../adapters/rest/client.ts'
import { cycleName } from '../../domain/local-time.ts'
import { counted } from '../../domain/quantity.ts'
import { wordsOf } from '../failures.ts'
import { type Reporter, type Reporting, span } from '../reporter.ts'
import { ProblemResponse, responseOf } from '../service.ts'
import { typed } from '../stack-file.ts'
import { activateSims } from './activate.ts'
import { showFirstAlert } from './first-alert.ts'
import { awaitMonthEnd, awaitRest } from './month-end.ts'
import type { Play } from './prepare.ts'
import { type Mapping, NOTHING_DELIVERED } from './progress.ts'
import { queueChanges } from './queue-changes.ts'
import { replayUsage } from './replay.ts'
import { setUp } from './set-up.ts'
import { printSummary, summarise } from './summary.ts'
import { makeUsage } from './usage.ts'

/** @returns how it ended; `running` after an abort by `signal`: it continues at the next start */
export async function playDemo(play: Play, { reporter, signal }: Reporting): Promise<'running' | 'done' | 'failed'> {
  const began = performance.now()
  reporter.heading(play.script.title)
  try {
    await perform(play, { reporter, signal })
    await play.note({ state: 'done' })
    reporter.say('')
    reporter.say(`The demonstration took ${span(performance.now() - began)}.`)
    return 'done'
  } catch (error) {
    const again = typed(play.dataDir, play.script.command)
    if (signal.aborted) {
      reporter.say(`The demonstration is broken off; it goes on with the next "${again}".`)
      return 'running'
    }
    await play.note({ state: 'failed' })
    reporter.warn(`The demonstration failed: ${wordsOf(error)}`)
    const fresh = typed(play.dataDir, 'npm start -- --fresh')
    reporter.say(`Everything stays up, so that you can look. "${again}" tries to go on, "${fresh}" begins anew.`)
    return 'failed'
  }
}

async function perform(play: Play, { reporter, signal }: Reporting): Promise<void> {
  const { estate, newcomers, hasMonthEnd } = play.script
  const kept = await keptMapping(play, reporter)
  const cycle = kept?.cycle ?? (await awaitCycle(play, { reporter, signal }))
  reporter.say(
    `Billing cycle ${cycleName({ key: cycle.key, startsAt: text(cycle.startsAt), endsAt: text(cycle.endsAt) }, 'UTC')}`,
  )
  const ids = await reporter.step(
    `${counted(estate.tariffs.length, 'tariff')}, ${counted(estate.pools.length, 'pool')}, ${estate.sims.length - newcomers.size} Active SIMs taken over`,
    () => setUp(play, cycle.startsAt),
  )
  await activateSims(play, ids, { reporter, signal })
  const mapping = kept ?? (await mapNow(play, cycle))
  if (hasMonthEnd) await beginMonth(play, ids, mapping, { reporter, signal })

  const sims = estate.sims.filter(({ iccid }) => !newcomers.has(iccid))
  const usage = makeUsage(sims, mapping)
  await replayUsage(play, usage, mapping, { reporter, signal })
  if (hasMonthEnd) {
    await awaitMonthEnd(play, mapping, reporter, signal)
    await setSchedule(play, 'pause', signal)
  }
  await awaitRest(play, reporter, signal)

  if (!hasMonthEnd) await showFirstAlert(play, reporter)
  reporter.heading('What came of it, read back through the interfaces')
  printSummary(await summarise(play, mapping, usage.length), reporter)
  reporter.say('')
  for (const line of whatNext(play, mapping)) reporter.say(line)
}

const text = (at: number) => new Date(at).toISOString()

function whatNext(play: Play, { cycle }: Mapping): string[] {
  const { tenantId } = play.progress
  if (!play.script.hasMonthEnd) {
    return [
      `What this cycle will cost:  ${typed(play.dataDir, `npx simherd cycles plan --tenant ${tenantId}`)}`,
      `A month end in 2 minutes:   ${typed(play.dataDir, 'npm start -- --demo=month-end')}`,
    ]
  }
  return [
    `The statement:  ${typed(play.dataDir, `npx simherd cycles statement ${cycle.key} --tenant ${tenantId}`)}`,
    "The tenant's Schedule is paused, so that no more cycles of 2 minutes are billed. To let it go on:",
    `  ${typed(play.dataDir, `npx simherd schedule resume --tenant ${tenantId}`)}`,
  ]
}

/** The mapping of an interrupted demonstration. Undefined if its cycle ended before anything was counted. */
async function keptMapping({ note, internal }: Play, reporter: Reporter): Promise<Mapping | undefined> {
  const { mapping, posted } = await note({})
  if (mapping === null) return undefined
  const cycles = await responseOf(internal.GET('/internal/cycles'))
  const isCounted = (cycles.find(({ key }) => key === mapping.cycle.key)?.recordsAccepted ?? 0) > 0
  if (posted === 0 && !isCounted && Date.now() > mapping.delivery.to) return undefined
  reporter.say('The demonstration goes on where it stopped.')
  return mapping
}

/** Chooses the cycle, and waits for it. */
async function awaitCycle(play: Play, { reporter, signal }: Reporting): Promise<Mapping['cycle']> {
  const { cycle, waitMs } = play.script.choose(play.progress.billingCycle, Date.now())
  if (waitMs > 0) {
    await reporter.step({ doing: 'waiting for the next cycle', done: 'the next cycle has begun' }, () =>
      sleep(waitMs, undefined, { signal }),
    )
  }
  return cycle
}

/** Stores the mapping before the first record. */
async function mapNow(play: Play, cycle: Mapping['cycle']): Promise<Mapping> {
  const mapping = play.script.map(cycle, Date.now())
  await play.note({ mapping, ...NOTHING_DELIVERED })
  return mapping
}

/** What a month needs that ends within minutes: its Schedule, its changes, and no alert of a feed that falls silent. */
async function beginMonth(play: Play, ids: Parameters<typeof queueChanges>[1], mapping: Mapping, on: Reporting) {
  await setSchedule(play, 'resume', on.signal)
  const silence = {
    rule: 'usage-feed-silent',
    lasts: 'P30D',
    reason: 'The demonstration delivers no usage after its month',
  }
  const params = idempotent(`demo/${play.progress.tenantId}/silence`)
  await responseOf(play.internal.POST('/internal/silences', { body: silence, params }))
  const { changesQueued } = await play.note({})
  if (changesQueued || Date.now() >= mapping.cycle.endsAt) return
  await queueChanges(play, ids, on.reporter)
  await play.note({ changesQueued: true })
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
