/** A timeline as the service lives it: its estate in PostgreSQL, its records received, its events done, each in its time. */
import { sql } from 'kysely'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import {
  LogLevel,
  PoolType,
  SimStatus,
  TariffType,
  TicketStatus,
  TicketType,
  WatchdogMode,
} from '../../../domain/codes.ts'
import { iccidOf } from '../../../domain/identifiers.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { durationMs } from '../../../domain/time/duration.ts'
import { MB } from '../../../domain/units.ts'
import type { Stage } from '../../../rules/rule-file.ts'
import { readInstant, readSeries } from '../../../rules/timeline/read-series.ts'
import type { TimelineEvent, TimelineTest } from '../../../rules/timeline/test-file.ts'
import { openPlayer } from '../../../service/backtests/open-player.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { updatePool } from '../../../service/pools/update-pool.ts'
import { activeRuleSet } from '../../../service/rules/rows/rule-sets.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { lockSim } from '../../../service/sims/rows/sim-state.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { inPlatform, type TenantTx } from '../../../store/tenancy.ts'
import { accepting } from '../../setup/accepting.ts'
import { aPool, aTariff, openStore, type TestStore } from '../../setup/estate.ts'
import { aHarness, complete, evaluationOptions, type Harness } from '../harness.ts'

type Names = ReadonlyMap<string, number>
interface Seat {
  readonly poolId?: number
  readonly tariffId?: number
}
interface World {
  readonly harness: Harness
  /** Pool and tariff of each SIM, once it is provisioned. */
  readonly seats: ReadonlyMap<string, Seat>
  readonly store: TestStore
  readonly pools: Names
  readonly sims: Names
}

/** Lives a timeline on a database of its own. @param endsAt when it ends, epoch milliseconds */
export async function livedTimeline(test: TimelineTest, rules: readonly RuleSource[], endsAt: number) {
  const startsAt = Date.parse(test.start)
  const { store, close } = await openStore(new Date(startsAt).toISOString())
  try {
    await activateRules(store, rules, 'the tests')
    const harness = await aHarness(store, test.cycle ?? 'P1M')
    const world = { harness, store, ...(await settle(harness, test)) }
    const evaluation = evaluationOptions()
    const player = openPlayer(store, harness.tenantId, { evaluation, mailer: mailChannel(accepting) })
    await player.work()
    for (const [at, happenings] of agendaOf(test, startsAt)) {
      await player.moveTo(at)
      for (const happen of happenings) await happen(world)
      await player.work()
    }
    await player.moveTo(endsAt)
    return await doneIn(world)
  } finally {
    await close()
  }
}

const settingsOf = ({ mode, warningThresholdPct, enableBurnRateAlerts, exempt }: Partial<TimelineEvent>) => ({
  ...(mode === undefined ? {} : { watchdogMode: WatchdogMode[mode] }),
  ...(warningThresholdPct === undefined ? {} : { warningThresholdPct }),
  ...(enableBurnRateAlerts === undefined ? {} : { enableBurnRateAlerts }),
  ...(exempt === undefined ? {} : { isWatchdogExempt: exempt }),
})

/** Gives a SIM a status, as a person does. */
async function giveStatus(
  tx: TenantTx,
  simId: number,
  status: NonNullable<TimelineEvent['status']>,
  seat: Seat,
): Promise<void> {
  if (status === 'Unprovisioned') return complete(tx, { simId, type: TicketType.Provision, unassign: true })
  const isSeated = (await lockSim(tx, simId))?.status !== SimStatus.Unprovisioned
  if (!isSeated) await complete(tx, { simId, type: TicketType.Provision, ...seat })
  if (isSeated || status === 'Active')
    await complete(tx, { simId, type: status === 'Active' ? TicketType.Activate : TicketType.Suspend })
}

/** The estate at the start. */
function settle({ asTenant }: Harness, test: TimelineTest): Promise<Pick<World, 'pools' | 'sims' | 'seats'>> {
  return asTenant(async (tx) => {
    const [tariffs, pools, sims] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()]
    const seats = new Map<string, Seat>()
    for (const [name, { type, allowanceMB }] of Object.entries(test.tariffs ?? {}))
      tariffs.set(name, (await aTariff(tx, TariffType[type], Math.round(allowanceMB * MB))).id)
    for (const [name, pool] of Object.entries(test.pools ?? {})) {
      const isDynamic = test.tariffs?.[pool.tariff]?.type === 'Dynamic Pool'
      const type = isDynamic ? PoolType.Dynamic : PoolType.Standard
      const own = { name, type, watchdogMode: WatchdogMode.Monitor, ...settingsOf(pool) }
      pools.set(name, (await aPool(tx, tariffs.get(pool.tariff) ?? 0, own)).id)
    }
    for (const [n, [name, sim]] of Object.entries(test.sims ?? {}).entries()) {
      const iccid = iccidOf(`894450${String(n).padStart(12, '0')}`)
      const { created } = await importSims(tx, [{ iccid, ...(sim.tag === undefined ? {} : { tag: sim.tag }) }])
      const simId = created[0]?.id ?? 0
      sims.set(name, simId)
      const seat = {
        ...(sim.pool === undefined ? {} : { poolId: pools.get(sim.pool) ?? 0 }),
        ...(sim.tariff === undefined ? {} : { tariffId: tariffs.get(sim.tariff) ?? 0 }),
      }
      seats.set(name, seat)
      if (sim.status !== 'Unprovisioned') await giveStatus(tx, simId, 'Active', seat)
      if (sim.status === 'Suspended') await giveStatus(tx, simId, 'Suspended', seat)
      await setSimWatchdog(tx, { id: simId, ...settingsOf(sim) })
    }
    if (test.feed?.every !== undefined)
      await changeNotices(tx, {
        timeZone: 'UTC',
        feedEvery: test.feed.every,
        escalateAfter: null,
        mailsFrom: LogLevel.Info,
      })
    return { pools, sims, seats }
  })
}

type Happening = (world: World) => Promise<unknown>

/** What happens, by the instant: records as they are received, and events. */
function agendaOf(test: TimelineTest, startsAt: number): [number, Happening[]][] {
  const agenda = new Map<number, Happening[]>()
  const add = (at: number, happen: Happening) => agenda.set(at, [...(agenda.get(at) ?? []), happen])
  const away = (test.feed?.away ?? []).map(([from, to]) => [readInstant(from).at, readInstant(to).at] as const)
  const received = (ms: number) => away.find(([from, to]) => ms >= from && ms < to)?.[1] ?? ms
  const use = (
    name: string,
    ms: number,
    { MB: megabytes = 0, sms = 0 }: { readonly MB?: number; readonly sms?: number },
  ) =>
    add(startsAt + received(ms), async ({ harness, sims }) => {
      const bytes = { bytesDown: Math.round(megabytes * MB), ...(megabytes < 0 ? { correction: true } : {}) }
      const at = new Date(startsAt + ms).toISOString()
      const { rejected } = await harness.record([
        { ...harness.usage(sims.get(name) ?? 0, bytes), at, ...(sms === 0 ? {} : { smsCount: sms }) },
      ])
      if (rejected.length > 0) throw new Error(JSON.stringify(rejected))
    })
  const step = durationMs(test.step ?? 'P1D')
  const valuesOf = (text: string | undefined) => {
    const read = readSeries(text ?? '_')
    return 'values' in read ? read.values : []
  }
  for (const name of Object.keys(test.sims ?? {})) {
    const [usage, messages] = [valuesOf(test.usageMB?.[name]), valuesOf(test.smsCount?.[name])]
    for (let n = 0; n < Math.max(usage.length, messages.length); n += 1) {
      const [megabytes, sms] = [usage[n] ?? null, messages[n] ?? null]
      if (megabytes !== null || sms !== null) use(name, n * step, { MB: megabytes ?? 0, sms: sms ?? 0 })
    }
  }
  for (const event of test.events ?? []) {
    const ms = readInstant(event.at).at
    const who = event.use ?? event.correct
    if (who === undefined) add(startsAt + ms, (world) => happening(world, event))
    else
      use(who, ms, {
        ...(event.MB === undefined ? {} : { MB: event.MB }),
        ...(event.sms === undefined ? {} : { sms: event.sms }),
      })
  }
  return [...agenda].toSorted(([a], [b]) => a - b)
}

/** Puts a rule in force in another stage. */
async function restage(store: TestStore, name: string, stage: Stage): Promise<void> {
  const set = await inPlatform(store, activeRuleSet)
  const files = (set?.files ?? []).map((one) => {
    const rule = JSON.parse(one.text)
    if (rule.name === name) rule.event.params.stage = stage
    return { ...one, text: JSON.stringify(rule) }
  })
  await activateRules(store, files, 'the tests')
}

/** Does what an event says, but usage. */
async function happening({ harness, store, pools, sims, seats }: World, event: TimelineEvent): Promise<void> {
  const { asTenant, rows } = harness
  const { stage, to, tickets, set = '', status } = event
  if (stage !== undefined && to !== undefined) await restage(store, stage, to)
  if (tickets !== undefined) {
    const ofTypes = [
      [TicketStatus.Complete, tickets.done],
      [TicketStatus.Failed, tickets.failed],
    ] as const
    for (const [ended, count] of ofTypes)
      await asTenant((tx) =>
        sql`insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
            select gen_random_uuid(), ${[...sims.values()][0]}, 0, ${ended}, ${tx.now}, '{"by": "user"}', ${tx.now}, ${tx.now}
              from generate_series(1, ${count})`.execute(tx.q),
      )
  }
  const [simId, poolId] = [sims.get(set), pools.get(set)]
  if (simId !== undefined) {
    await asTenant((tx) => setSimWatchdog(tx, { id: simId, ...settingsOf(event) }))
    if (status !== undefined) await asTenant((tx) => giveStatus(tx, simId, status, seats.get(set) ?? {}))
  }
  if (poolId !== undefined) {
    const [was] = await rows(sql<{
      name: string
      watchdogMode: WatchdogMode
      warningThresholdPct: number | null
      enableBurnRateAlerts: boolean | null
    }>`
      select name, watchdog_mode as "watchdogMode", warning_threshold_pct as "warningThresholdPct",
             enable_burn_rate_alerts as "enableBurnRateAlerts" from pools where id = ${poolId}`)
    if (was !== undefined) await asTenant((tx) => updatePool(tx, { id: poolId, ...was, ...settingsOf(event) }))
  }
}

/** What the rules did, by the names of the test. Instants are epoch milliseconds. */
async function doneIn({ harness, pools, sims }: World) {
  const nameIn = (names: Names, id: number) => [...names].find(([, one]) => one === id)?.[0] ?? String(id)
  const subjectOf = (simId: number | null, poolId: number | null) => {
    if (simId !== null) return nameIn(sims, simId)
    return poolId === null ? 'tenant' : nameIn(pools, poolId)
  }
  const log = await harness.rows(sql<{
    key: string
    at: Date
    rule: string
    level: number
    simId: number | null
    poolId: number | null
  }>`
    select dedupe_key as key, at, rule, level, sim_id as "simId", pool_id as "poolId" from watchdog_log
     where dedupe_key ~ '/(fired|resolved|withdrawn)$' order by at, id`)
  const suspended = await harness.rows(sql<{ simId: number; rule: string; from: Date; to: Date | null }>`
    select sim_id as "simId", rule, opened_at as "from", closed_at as "to" from suspensions
     where cause = 'watchdog' order by opened_at, sim_id`)
  return {
    entries: log.map(({ key, at, rule, level, simId, poolId }) => ({
      at: at.getTime(),
      kind: key.split('/').at(-1) ?? '',
      rule,
      subject: subjectOf(simId, poolId),
      level,
    })),
    suspensions: suspended.map(({ simId, rule, from, to }) => ({
      sim: nameIn(sims, simId),
      rule,
      from: from.getTime(),
      to: to?.getTime() ?? null,
    })),
  }
}
