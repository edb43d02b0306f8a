/**
 * What holds of alerts on the real store, whatever happens around the decision: usage, gaps, corrections, late records, a
 * stale feed, rules that cannot be decided, edits, moves, silences, ends of cycles, workers that die or stall, and clocks
 * that jump.
 */
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import type { AlertPhase, AlertState } from '../../../rules/alerts/alert-state.ts'
import { permitted } from '../../../rules/alerts/permission.ts'
import { isTold } from '../../../rules/alerts/quiet.ts'
import { cases } from '../../setup/cases.ts'
import { openStore } from '../../setup/estate.ts'
import { cycleOf, isSilenced, modeOf, NAMES, type Name, SLOW_MS } from './path-model.ts'
import { aWorld, expectedOf, type Step, steps, take, tally, type World } from './path-world.ts'

/** Number of histories. One takes some two seconds on a quiet machine: only what hangs reaches the limit. */
const RUNS = cases(24)
const MOST_MS = 120_000 + RUNS * 40_000
/** With so many histories each kind of step and each expectation has come about. */
const LEAST_TALLIED = 20

interface AlertRow {
  readonly rule: Name
  readonly simId: number
  readonly scope: string
  readonly firing: boolean
  readonly state: AlertState
  readonly asked: string | null
}

async function rowsOf(world: World) {
  const alerts = await world.rows(sql<AlertRow>`
    select rule, subject_id as "simId", scope, firing, state, asked from alerts where subject_kind = 1 order by rule, subject_id, scope`)
  const log = await world.rows(sql<{ key: string }>`select dedupe_key as key from watchdog_log order by id`)
  const notices = await world.rows(sql<{ id: string; key: string; mailId: string | null }>`
    select id, dedupe_key as key, mail_id as "mailId" from notifications order by id`)
  const asked = await world.rows(sql<{ id: string; workflowId: string; signal: string | null }>`
    select id, workflow_id as "workflowId", request ->> 'signal' as signal from workflow_outbox order by id`)
  return { alerts, log: log.map(({ key }) => key), notices, asked }
}
type Rows = Awaited<ReturnType<typeof rowsOf>>

/** How often something was expected, in all histories: a property of nothing would hold too. */
const expectations = { fires: 0, mailed: 0, quiet: 0, ended: 0, asked: 0 }

const PHASES: Readonly<Record<AlertPhase, readonly AlertPhase[]>> = {
  inactive: ['inactive', 'pending', 'firing'],
  pending: ['pending', 'firing', 'inactive', 'resolved'],
  firing: ['firing', 'resolved'],
  recovering: [],
  resolved: ['resolved', 'pending', 'firing'],
}

/** Whether the last that was told of an alert is that it fires. */
const isBelieved = (keys: readonly string[], base: string): boolean =>
  keys.findLast((key) => key.startsWith(base) && /\/(fired|resolved)$/.test(key))?.endsWith('/fired') === true

/** What has been seen of a world before. */
class Seen {
  /** Ids of notices that a mail has, by key. */
  readonly mailed = new Map<string, string>()
  lastAsked = 0
}

function tellsOnce({ alerts, log, notices }: Rows, seen: Seen): void {
  for (const keys of [log, notices.map(({ key }) => key)]) {
    expect(new Set(keys).size).toBe(keys.length)
    for (const [n, key] of keys.entries())
      if (/\/(resolved|withdrawn)$/.test(key))
        expect(keys.slice(0, n), key).toContain(key.replace(/(resolved|withdrawn)$/, 'fired'))
  }
  for (const { key, id, mailId } of notices) {
    if (seen.mailed.has(key)) expect(id, `${key} is told in another notice`).toBe(seen.mailed.get(key))
    if (mailId !== null) seen.mailed.set(key, id)
  }
  for (const [key, id] of seen.mailed)
    expect(
      notices.map((one) => one.id),
      `the notice ${key} that a mail has`,
    ).toContain(id)
  for (const { state } of alerts)
    for (const marks of [state.told, state.mailed]) expect(new Set(marks).size, marks.join()).toBe(marks.length)
}

/** Nothing is missing that fires and may be told, and nothing is believed to fire that has ended. */
function tellsAll(world: World, { alerts, log, notices }: Rows): void {
  const { model, store } = world
  const cycle = cycleOf(store.now).key
  for (const [n, simId] of world.sims.entries()) {
    for (const [level, rule] of NAMES.entries()) {
      const found = alerts.find((one) => one.rule === rule && one.simId === simId && one.scope === cycle)
      const expected = expectedOf(world, rule, n)
      const what = `${rule} of SIM ${n}`
      if (expected?.fires === true) expectations.fires += 1
      if (expected?.fires !== undefined) expect(found?.firing ?? false, `${what} fires`).toBe(expected.fires)
      if (found === undefined || expected?.isDecided !== true || found.state.withdrawn === true) continue
      const { state, firing } = found
      const { log: logs, notify, suspend } = permitted(model.rules[rule].stage, modeOf(model, n))
      const base = `${rule}/sim/${simId}/${cycle}`
      if (logs && state.phase !== 'pending') expect(isBelieved(log, base), `${what} is logged`).toBe(firing)
      const isInhibited = NAMES.slice(0, level).some((above) => {
        const other = alerts.find((one) => one.rule === above && one.simId === simId && one.scope === cycle)
        return other !== undefined && model.rules[above].stage !== 'off' && isTold(other.state)
      })
      const isQuiet = isInhibited || isSilenced(model, n, store.now)
      const isMailed = isBelieved(
        notices.map(({ key }) => key),
        base,
      )
      if (notify) {
        if (firing) expectations[isQuiet ? 'quiet' : 'mailed'] += 1
        if (firing && !isQuiet) expect(isMailed, `${what} is mailed`).toBe(true)
        if (state.phase === 'resolved') expectations.ended += 1
        if (state.phase === 'resolved' && rule === 'sim-usage-warning')
          expect(isMailed, `${what} is mailed to fire`).toBe(false)
      }
      if (rule !== 'sim-overage') continue
      if (firing && suspend === 'do') expect(found.asked, `${what} is asked for`).toBe('overLimit')
      else if (!world.state.isRefused) expect(found.asked, `${what} is asked for`).not.toBe('overLimit')
    }
  }
}

function asksForWhatIsLogged(world: World, { log, asked }: Rows, seen: Seen): void {
  const { model, store } = world
  for (const { id, workflowId, signal } of asked) {
    if (Number(id) <= seen.lastAsked) continue
    seen.lastAsked = Number(id)
    if (signal !== 'overLimit') continue
    expectations.asked += 1
    const [, , simId = '', cycle = ''] = workflowId.split(':')
    expect(cycle).toBe(cycleOf(store.now).key)
    expect(
      log.some((key) => key.startsWith(`sim-overage/sim/${simId}/${cycle}`) && key.endsWith('/fired')),
      workflowId,
    ).toBe(true)
    const n = world.sims.indexOf(Number(simId))
    expect([model.rules['sim-overage'].stage, modeOf(model, n)]).toEqual(['enforce', WatchdogMode.Enforce])
  }
}

async function movesAsDocumented(world: World): Promise<void> {
  const { rows } = await sql<{ rule: string; before: AlertState | null; after: AlertState }>`
    select rule, before, after from alert_moves order by id`.execute(world.store.db)
  for (const { rule, before, after } of rows) {
    const from = before?.phase ?? 'inactive'
    if (after.withdrawn !== true) expect(PHASES[from], `${rule}: ${from} to ${after.phase}`).toContain(after.phase)
    expect(after.since, `${rule}: ${from} to ${after.phase}`).toBeGreaterThanOrEqual(before?.since ?? 0)
    if (before?.phase === 'pending' && after.phase === 'firing')
      expect(after.since - before.since).toBeGreaterThanOrEqual(SLOW_MS)
  }
}

function closedAreSilent(world: World, { alerts }: Rows): void {
  for (const { scope, firing, state } of alerts)
    if (world.state.closed.has(scope)) expect([firing, state.phase === 'pending']).toEqual([false, false])
}

async function look(world: World, seen: Seen): Promise<void> {
  const rows = await rowsOf(world)
  tellsOnce(rows, seen)
  tellsAll(world, rows)
  asksForWhatIsLogged(world, rows, seen)
  closedAreSilent(world, rows)
}

const { Enforce, Monitor } = WatchdogMode
/** What is rare by chance: a cycle that ends, usage that comes late for it, its close; and each other kind of step. */
const MONTH: Step[] = [
  { do: 'use', sim: 0, megabytes: 70 },
  { do: 'wait', hours: 3 },
  { do: 'silence', sim: 1, hours: 5 },
  { do: 'kill', sim: 1, megabytes: 70, nth: 30 },
  { do: 'mode', pool: 0, mode: Monitor },
  { do: 'stall', sim: 0, megabytes: 45, nth: 25, behind: 30_000 },
  { do: 'mode', pool: 0, mode: Enforce },
  { do: 'clock', ms: -90_000, sim: 0, megabytes: -70 },
  { do: 'wait', hours: 40 },
  { do: 'month end' },
  { do: 'late', sim: 0, megabytes: 70 },
  { do: 'use', sim: 1, megabytes: 20 },
  { do: 'stall', sim: 0, megabytes: 70, nth: 40, behind: 0 },
  { do: 'twice' },
  { do: 'close' },
  { do: 'use', sim: 0, megabytes: 45 },
]

/** Lives a history in a database of its own. */
async function live(history: readonly Step[]): Promise<void> {
  const { store, close } = await openStore()
  try {
    const world = await aWorld(store)
    const seen = new Seen()
    for (const step of history) {
      await take(world, step)
      await look(world, seen)
    }
    await movesAsDocumented(world)
    const before = await rowsOf(world)
    await world.evaluate()
    expect(await rowsOf(world)).toEqual(before)
  } finally {
    await close()
  }
}

describe('alerts on their way from record to notice', () => {
  test('are told once, all of them, and act on what is logged', { timeout: MOST_MS + 30_000 }, async () => {
    await fc.assert(fc.asyncProperty(fc.array(steps, { minLength: 8, maxLength: 30, size: 'max' }), live), {
      numRuns: RUNS,
      interruptAfterTimeLimit: MOST_MS,
      examples: [[MONTH]],
    })
    if (RUNS >= LEAST_TALLIED)
      for (const [what, count] of Object.entries({ ...tally, ...expectations })) expect(count, what).toBeGreaterThan(0)
  })
})
