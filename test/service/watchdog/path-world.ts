/** Histories of the path around the decision: each step is taken in the service, and in the model (path-model.ts). */
import fc from 'fast-check'
import { sql } from 'kysely'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { MB } from '../../../domain/units.ts'
import type { Stage } from '../../../rules/rule-file.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { endSilence } from '../../../service/alerts/silence-alerts.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { updatePool } from '../../../service/pools/update-pool.ts'
import { lookAtAll } from '../../../store/shards.ts'
import { inTenant } from '../../../store/tenancy.ts'
import type { TestStore } from '../../setup/estate.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { beside } from '../../setup/lock-waits.ts'
import { interrupted, Killed } from '../../setup/stalled-store.ts'
import { weighed } from '../../setup/weighed.ts'
import { watch } from '../harness.ts'
import { aWorld as anAlertWorld, firesOn, only, withParams } from './alert-world.ts'
import { missFact } from './missing-fact.ts'
import {
  cycleOf,
  evaluate,
  HOUR,
  isStale,
  keyOf,
  MINUTE,
  NAMES,
  type Name,
  type PathModel,
  poolAt,
  type RulesModel,
  usedBy,
} from './path-model.ts'

const SIMS = 2
const { Disabled, Monitor, Enforce } = WatchdogMode
/** Longer than any lease: what a worker has left is claimed again. */
const LEASES_MS = 3 * MINUTE

export type Step =
  | { readonly do: 'use' | 'correct' | 'late'; readonly sim: number; readonly megabytes: number }
  | { readonly do: 'wait'; readonly hours: number }
  | { readonly do: 'clock'; readonly ms: number; readonly sim: number; readonly megabytes: number }
  | { readonly do: 'undecidable'; readonly rule: Name }
  | { readonly do: 'edit'; readonly rule: Name; readonly stage: Stage; readonly pct: number }
  | { readonly do: 'refused set' | 'mend' | 'unsilence' | 'acknowledge' | 'mail' | 'month end' | 'close' | 'twice' }
  | { readonly do: 'mode'; readonly pool: number; readonly mode: WatchdogMode }
  | { readonly do: 'move'; readonly sim: number; readonly pool: number }
  | { readonly do: 'silence'; readonly sim: number; readonly hours: number }
  | { readonly do: 'kill'; readonly sim: number; readonly megabytes: number; readonly nth: number }
  | {
      readonly do: 'stall'
      readonly sim: number
      readonly megabytes: number
      readonly nth: number
      /** How far the clock of the worker that stalls is behind, in milliseconds. */
      readonly behind: number
    }

const sim = fc.integer({ min: 0, max: SIMS - 1 })
const pool = fc.integer({ min: 0, max: 1 })
const megabytes = fc.constantFrom(5, 20, 45, 70)
const rule = fc.constantFrom(...NAMES)
const nth = fc.integer({ min: 1, max: 60 })
const stage = fc.constantFrom<Stage[]>('off', 'shadow', 'log', 'notify', 'notify', 'enforce')

export const steps: fc.Arbitrary<Step> = fc.oneof(
  weighed(8, ['use', 'use', 'correct', 'late'], { sim, megabytes }),
  weighed(3, ['wait'], { hours: fc.constantFrom(1, 3, 12, 40) }),
  weighed(3, ['clock'], {
    ms: fc.constantFrom(-90_000, -90_000, HOUR),
    sim,
    megabytes: fc.constantFrom(-70, -20, 20, 70),
  }),
  weighed(3, ['edit'], { rule, stage, pct: fc.constantFrom(50, 80) }),
  weighed(1, ['undecidable'], { rule }),
  weighed(5, ['refused set', 'mend', 'unsilence', 'acknowledge', 'mail', 'twice'], {}),
  weighed(1, ['month end', 'close'], {}),
  weighed(2, ['mode'], { pool, mode: fc.constantFrom(Disabled, Monitor, Enforce) }),
  weighed(2, ['move'], { sim, pool }),
  weighed(2, ['silence'], { sim, hours: fc.constantFrom(1, 5) }),
  weighed(3, ['kill'], { sim, megabytes, nth }),
  weighed(4, ['stall'], { sim, megabytes, nth, behind: fc.constantFrom(0, 30_000) }),
)

const RULES: RulesModel = {
  'sim-overage': { stage: 'enforce', pct: 100 },
  'sim-usage-warning': { stage: 'notify', pct: 80 },
  'sim-burn-rate': { stage: 'notify', pct: 50 },
}

/** The end of the warning is mailed too. The one called `sim-burn-rate` has a `for`, and is the least of the three. */
const filesOf = (rules: RulesModel) => {
  const params = (name: Name, also: object = {}) => ({ stage: rules[name].stage, ...also })
  const atLeast = (name: Name, also: object) => {
    const { pct } = rules[name]
    const leaf = { fact: 'usagePct', operator: 'greaterThanInclusive', value: pct }
    return firesOn(leaf, [pct, pct - 1], params(name, also))
  }
  return only({
    'sim-overage': withParams(params('sim-overage')),
    'sim-usage-warning': atLeast('sim-usage-warning', { resolve: 'email' }),
    'sim-burn-rate': atLeast('sim-burn-rate', {
      level: 'Info',
      message: 'SIM {{iccid}} is at {{usagePct}}.',
      resolvedMessage: 'SIM {{iccid}} is at {{usagePct}} again.',
      for: 'PT2H',
      resolve: 'log',
    }),
  })
}

/** Two SIMs, in the first of two pools. */
export async function aWorld(store: TestStore) {
  const world = await anAlertWorld({ rules: filesOf(RULES), sims: SIMS, store })
  await noteMoves(world)
  const { Standard } = TariffType
  const pools = [
    { id: world.poolId, name: 'meters' },
    { id: await world.poolOf('others', Standard, Enforce), name: 'others' },
  ]
  const model: PathModel = {
    rules: RULES,
    modes: [Enforce, Enforce],
    poolOf: Array.from({ length: SIMS }, () => 0),
    moves: [],
    records: [],
    receivedAt: store.now,
    undecidable: new Set(),
    silencedUntil: new Map(),
    alerts: new Map(),
  }
  missFact(world.options, model.undecidable)
  // A clock that is set back does not come to before the SIMs.
  store.now += HOUR
  return {
    ...world,
    pools,
    model,
    silences: new Map<number, number>(),
    state: { isRefused: false, closed: new Set<string>() },
  }
}
export type World = Awaited<ReturnType<typeof aWorld>>

/** Has the database note every state that is written of an alert, however shortly it lasts. */
async function noteMoves({ store }: { store: TestStore }): Promise<void> {
  await sql`create table alert_moves (id bigint generated always as identity, rule text, kind smallint, subject bigint,
                                      scope text, before jsonb, after jsonb)`.execute(store.db)
  await sql`create function note_move() returns trigger language plpgsql security definer as $$ begin
      insert into alert_moves (rule, kind, subject, scope, before, after)
      values (new.rule, new.subject_kind, new.subject_id, new.scope, case when tg_op = 'UPDATE' then old.state end, new.state);
      return new;
    end $$`.execute(store.db)
  await sql`create trigger note_move after insert or update on alerts for each row execute function note_move()`.execute(
    store.db,
  )
}

const simOf = (world: World, n: number): number => {
  const id = world.sims[n]
  if (id === undefined) throw new Error(`there is no SIM ${n}`)
  return id
}

async function use(world: World, n: number, wanted: number, at: number = world.store.now): Promise<boolean> {
  const { model, store } = world
  const cycle = cycleOf(at).key
  const amount = Math.max(wanted, -usedBy(model, n, cycle, poolAt(model, n, at)))
  if (amount === 0) return false
  const { accepted } = await world.record([
    world.usage(simOf(world, n), {
      bytesDown: amount * MB,
      at: new Date(at).toISOString(),
      ...(amount < 0 ? { correction: true } : {}),
    }),
  ])
  if (accepted !== 1) throw new Error('the record was not accepted')
  model.receivedAt = Math.max(model.receivedAt, store.now)
  model.records.push({ sim: n, pool: poolAt(model, n, at), cycle, megabytes: amount })
  return true
}

async function put(world: World, rules: RulesModel): Promise<void> {
  await world.put(filesOf(rules))
  world.model.rules = rules
  world.state.isRefused = false
}

/** How often what a history is for came about, in all histories. */
export const tally = { waited: 0, overtaken: 0, killed: 0, late: 0, closed: 0, stale: 0 }

/** Two workers at once: the first stalls after some statement, the other does all there is, and the first goes on. */
async function stall(world: World, { sim: n, megabytes: amount, nth: at, behind }: Extract<Step, { do: 'stall' }>) {
  const { store } = world
  await use(world, n, amount)
  const began = store.now
  let rest = async (): Promise<unknown> => undefined
  const slow = interrupted({ ...store, clock: () => (behind === 0 ? store.now : began - behind) }, at, async () => {
    store.now += MINUTE
    const { hasEnded, rest: left } = await beside(store, world.evaluate)
    rest = left
    tally[hasEnded ? 'overtaken' : 'waited'] += 1
  })
  await watch(slow.store, world.options, world.tenantId)
  await rest()
  store.now += LEASES_MS
}

/** A worker is killed after some statement, and another one finds what it left. */
async function kill(world: World, { sim: n, megabytes: amount, nth: at }: Extract<Step, { do: 'kill' }>) {
  await use(world, n, amount)
  const dying = interrupted(world.store, at, () => Promise.reject(new Killed('Connection terminated')))
  await watch(dying.store, world.options, world.tenantId).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error
    tally.killed += 1
  })
  world.store.now += LEASES_MS
}

/** Inserts a set that another build put in force, and this one refuses. */
async function refuse({ store, state }: World): Promise<void> {
  const files = [{ file: 'sim/sim-overage.json', text: `{ "name": "sim-overage", ${crypto.randomUUID()}` }]
  await putForeignRules(store.db, files, new Date(store.now))
  state.isRefused = true
}

/** Takes a step, has all evaluated, and evaluates the model. */
export async function take(world: World, step: Step): Promise<void> {
  const { store, model, silences } = world
  let late: string | null = null
  switch (step.do) {
    case 'use':
      await use(world, step.sim, step.megabytes)
      break
    case 'correct':
      await use(world, step.sim, -step.megabytes)
      break
    case 'late': {
      const { startsAt } = cycleOf(store.now)
      const { key } = cycleOf(startsAt - 1)
      // Before the first cycle of the history there was no SIM.
      if (![...model.alerts.keys()].some((known) => known.endsWith(key)) || world.state.closed.has(key)) break
      if (await use(world, step.sim, step.megabytes, startsAt - 2 * MINUTE)) {
        late = key
        tally.late += 1
      }
      break
    }
    case 'wait':
      store.now += step.hours * HOUR
      break
    case 'clock':
      store.now += step.ms
      await use(world, step.sim, step.megabytes)
      break
    case 'edit': {
      const stage = step.rule !== 'sim-overage' && step.stage === 'enforce' ? 'notify' : step.stage
      const was = model.rules[step.rule]
      if (step.rule === 'sim-burn-rate' && was.pct !== step.pct) restart(model)
      await put(world, { ...model.rules, [step.rule]: { stage, pct: step.pct } })
      break
    }
    case 'undecidable':
      model.undecidable.add(step.rule)
      break
    case 'mend':
      // The build that mends it is started: it looks at all.
      if (model.undecidable.size > 0) await world.asTenant(lookAtAll)
      model.undecidable.clear()
      break
    case 'refused set':
      await refuse(world)
      break
    case 'mode': {
      const { id, name } = world.pools[step.pool] ?? { id: 0, name: '' }
      await world.asTenant((tx) => updatePool(tx, { id, name, watchdogMode: step.mode, warningThresholdPct: 80 }))
      model.modes[step.pool] = step.mode
      break
    }
    case 'move': {
      if (model.poolOf[step.sim] === step.pool) break
      const cause = { by: 'month-end', cycle: '2026-10' } as const
      const poolId = world.pools[step.pool]?.id ?? 0
      await world.complete({ simId: simOf(world, step.sim), type: TicketType.Provision, cause, poolId })
      model.poolOf[step.sim] = step.pool
      model.moves.push({ sim: step.sim, pool: step.pool, at: store.now })
      break
    }
    case 'silence': {
      const { id } = await world.silence({ simId: simOf(world, step.sim) }, `PT${step.hours}H`)
      const endsAt = store.now + step.hours * HOUR
      silences.set(id, endsAt)
      model.silencedUntil.set(step.sim, Math.max(endsAt, model.silencedUntil.get(step.sim) ?? 0))
      break
    }
    case 'unsilence':
      for (const id of silences.keys()) await world.asTenant((tx) => endSilence(tx, id))
      silences.clear()
      model.silencedUntil.clear()
      break
    case 'acknowledge':
      for (const simId of world.sims)
        await world
          .asTenant((tx) => acknowledgeAlert(tx, { rule: 'sim-overage', simId }))
          .catch((error: unknown) => {
            if (!(error instanceof ServiceError)) throw error
          })
      break
    case 'mail':
      await world.mailAll()
      break
    case 'month end':
      store.now = cycleOf(store.now).endsAt + 3 * MINUTE
      break
    case 'close': {
      const { startsAt } = cycleOf(store.now)
      const { key } = cycleOf(startsAt - 1)
      if (![...model.alerts.keys()].some((known) => known.endsWith(key)) || world.state.closed.has(key)) break
      // Alerts of what came last, and then the close: it waits for nobody.
      store.now = Math.max(store.now, startsAt + 7 * HOUR)
      await world.evaluate()
      await inTenant(store, world.tenantId, (tx) => closeCycle(tx, key))
      world.state.closed.add(key)
      tally.closed += 1
      break
    }
    case 'twice':
      store.now += MINUTE
      await Promise.all([world.evaluate(), world.evaluate()])
      break
    case 'stall':
      await stall(world, step)
      break
    case 'kill':
      await kill(world, step)
      break
  }
  store.now += MINUTE
  if (isStale(model, store.now)) tally.stale += 1
  await world.evaluate()
  if (late !== null) evaluate(model, store.now, late)
  evaluate(model, store.now)
}

/** A rule with a `for` was edited: what waits for it waits anew. What fires, fires on. */
function restart({ alerts }: PathModel): void {
  for (const [key, alert] of alerts)
    if (key.startsWith('sim-burn-rate/') && alert.fires !== true) alerts.set(key, { ...alert, metSince: null })
}

export const expectedOf = ({ model, store }: World, name: Name, n: number) =>
  model.alerts.get(keyOf(name, n, cycleOf(store.now).key))
