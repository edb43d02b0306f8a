/** A sweep's first look at SIMs, beside a look at all of them: in estates by chance it passes over nothing that changes. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { PoolType, SimStatus, TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { MB } from '../../../domain/units.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { unseen } from '../../../rules/alerts/alert-state.ts'
import { factsOf } from '../../../rules/facts.ts'
import { NO_FACTS } from '../../../rules/facts-needed.ts'
import { SIM_FACTS_BY_NAME } from '../../../rules/facts-of.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { compiledRules } from '../../../service/rules/rules-in-force.ts'
import { firstLook, OF_OVERAGE, readJudgedLines } from '../../../service/watchdog/first-look.ts'
import { lookAt, lookAtRange } from '../../../service/watchdog/look-at.ts'
import { readSims, readSituation } from '../../../service/watchdog/read-batch.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { cases } from '../../setup/cases.ts'
import { aPool, aStore, aTariff, byHand } from '../../setup/estate.ts'
import { aFile } from '../../unit/rules/samples.ts'
import { aHarness, evaluationOptions } from '../harness.ts'

const HOUR = 3_600_000
const NOW = '2026-11-10T12:00:00Z'
const COUNT = 24
/** With an end: where new SIMs come in, a look ends early. */
const ALL = { fromId: 0, toId: 1e9, most: 1000 }

/** A rule that fires where a fact has a value, or is from `least` to `most`. */
const aRuleOn = (
  name: string,
  fact: string,
  is: string | { readonly least: number; readonly most?: number },
  match: object = {},
) => {
  const { least, most = Number.MAX_SAFE_INTEGER } = typeof is === 'string' ? { least: 0 } : is
  const conditions =
    typeof is === 'string'
      ? [{ fact, operator: 'equal', value: is }]
      : [
          { fact, operator: 'greaterThanInclusive', value: least },
          { fact, operator: 'lessThanInclusive', value: most },
        ]
  const [fires, rests] = typeof is === 'string' ? [is, `${is} `] : [least, least / 2]
  const examples = [
    { fires: true, facts: { [fact]: fires } },
    { fires: false, facts: { [fact]: rests } },
  ]
  const params = {
    level: 'Info',
    message: 'SIM {{iccid}}',
    actions: ['log'],
    once: 'episode',
    resolve: 'none',
    stage: 'log',
  }
  const { text } = aFile({ name, subject: 'sim', match, conditions: { all: conditions }, examples }, params)
  return { file: `sim/${name}.json`, text }
}

const files = [
  ...(await readRuleFiles('')),
  aRuleOn('a-little-over', 'overageMB', { least: 0.1, most: 40 }),
  aRuleOn('used-in-cycle', 'usageCycleMB', { least: 150 }, { tag: 'b' }),
  aRuleOn('pool-nearly-used', 'poolUsagePct', { least: 90 }, { pool: 's*gle' }),
  aRuleOn('in-device', 'imei', '2', { tag: 'a*' }),
  aRuleOn('burns', 'burnRatio', { least: 3 }, { tariffType: ['Standard'] }),
]
const aboutStock = [
  aRuleOn('in-stock', 'statusAgeHours', { least: 100 }, { status: ['Unprovisioned'] }),
  aRuleOn('used-in-stock', 'usageCycleMB', { least: 150 }, { status: ['Unprovisioned', 'Suspended'], tag: 'a*' }),
]
const setOf = async (given: typeof files) => {
  const { rules, faults } = await loadRuleSet(given)
  if (faults.length > 0) throw new Error(JSON.stringify(faults))
  return compiledRules({ version: 1, activatedAt: null, rules, refused: null })
}
/** Rules about provisioned SIMs, and with some about stock beside them. */
const sets = { provisioned: await setOf(files), stock: await setOf([...files, ...aboutStock]) }

const store = await aStore(NOW, { counted: false })
const harness = await aHarness(store)
const { tenantId, asTenant } = harness

/** Tariffs of the SIMs' own, and one pool of each type of tariff. */
const { tariffIds, poolIds } = await asTenant(async (tx) => {
  const tariffs = {
    standard: await aTariff(tx, TariffType.Standard, 100 * MB),
    small: await aTariff(tx, TariffType.Standard, 0),
    shared: await aTariff(tx, TariffType['Dynamic Pool'], 100 * MB),
    fixed: await aTariff(tx, TariffType['Fixed Pool'], 1000 * MB),
  }
  const pools = [
    await aPool(tx, tariffs.standard.id, { name: 'single' }),
    await aPool(tx, tariffs.shared.id, { name: 'shared', type: PoolType.Dynamic }),
    await aPool(tx, tariffs.fixed.id, { name: 'shared and fixed' }),
  ]
  return { tariffIds: Object.values(tariffs).map(({ id }) => id), poolIds: pools.map(({ id }) => id) }
})
const simIds = await harness.unprovisioned(COUNT)

const hours = (most: number) => fc.integer({ min: 0, max: most })
const rarely = fc.integer({ min: 0, max: 9 }).map((n) => n === 0)
const mode = fc.option(fc.constantFrom(...Object.values(WatchdogMode)))
const settings = {
  mode,
  threshold: fc.option(fc.constantFrom(80, 100, 100), { freq: 2 }),
  burn: fc.constantFrom(null, null, null, false, true),
}
const ledgerRow = fc.record({
  /** Most are in the pool that the SIM is in. */
  pool: fc.constantFrom('own', 'own', 'own', 0, ...poolIds),
  tariff: fc.option(fc.constantFrom(...tariffIds)),
  contributing: fc.boolean(),
  mb: fc.constantFrom(0, 1, 50, 90, 99, 100, 101, 300),
  smsCount: fc.constantFrom(0, 0, 0, 0, 99, 100),
  sessions: fc.constantFrom(0, 0, 7),
})
const seen = fc.record({
  hoursAgo: hours(200),
  changes: fc.constantFrom(0, 0, 1, 2),
  changedHoursAgo: hours(60),
  country: fc.constantFrom(null, 'DE', 'FR'),
})
const sim = fc.record({
  status: fc.constantFrom(...Object.values(SimStatus), SimStatus.Active, SimStatus.Active),
  statusHours: hours(200),
  suspension: fc.constantFrom(null, 'user', 'watchdog'),
  pool: fc.option(fc.constantFrom(...poolIds), { freq: 4 }),
  tariff: fc.option(fc.constantFrom(...tariffIds)),
  tag: fc.constantFrom('', 'a lamp', 'b'),
  exempt: rarely,
  ...settings,
  mode: fc.option(fc.constantFrom(...Object.values(WatchdogMode)), { freq: 1 }),
  seen: fc.option(seen),
  rows: fc.array(ledgerRow, { maxLength: 2 }),
  alert: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.record({
        rule: fc.constantFrom('sim-silent', 'sim-overage', 'sim-usage-warning', 'in-stock', 'gone'),
        phase: fc.constantFrom('inactive', 'pending', 'firing', 'recovering', 'resolved'),
        scope: fc.constantFrom('', '2026-11', '2026-10'),
      }),
    },
  ),
})
const estate = fc.record({
  sims: fc.array(sim, { minLength: COUNT, maxLength: COUNT }),
  pools: fc.tuple(...poolIds.map(() => fc.record(settings))),
  /** Of a feed that is to come every day. */
  receivedHours: fc.option(hours(60)),
  silenced: fc.constantFrom(null, null, 'sim-silent'),
  set: fc.constantFrom('provisioned', 'stock'),
})
type AnEstate = typeof estate extends fc.Arbitrary<infer T> ? T : never

const ago = (hoursAgo: number | null) =>
  hoursAgo === null ? null : new Date(store.now - hoursAgo * HOUR + 123).toISOString()

/** Makes the estate of the tenant another one, by SQL. */
async function make({ sims, pools, receivedHours, silenced }: AnEstate): Promise<void> {
  const rows = sims.map((one, n) => ({ ...one, id: simIds[n], pool: one.status === 0 ? null : one.pool }))
  const given = JSON.stringify(rows.map(({ statusHours, ...row }) => ({ ...row, since: ago(statusHours) })))
  await store.db.transaction().execute(async (q) => {
    await byHand({ q })
    await sql`select set_config('app.tenant', ${tenantId}, true)`.execute(q)
    await sql`
      update sims s
         set status = g.status, status_since = g.since, pool_id = g.pool, tariff_id = g.tariff, tag = g.tag,
             is_watchdog_exempt = g.exempt, watchdog_mode = g.mode, warning_threshold_pct = g.threshold,
             enable_burn_rate_alerts = g.burn, imei = '1'
        from jsonb_to_recordset(${given}::jsonb) as g(
          id bigint, status smallint, since timestamptz, pool integer, tariff integer, tag text, exempt boolean,
          mode smallint, threshold smallint, burn boolean)
       where s.id = g.id`.execute(q)
    for (const table of ['sim_sightings', 'usage_ledger', 'suspensions', 'alerts', 'silences', 'usage_feeds'])
      await sql`delete from ${sql.table(table)} where tenant_id = ${tenantId}`.execute(q)
    for (const [n, { mode: poolMode, threshold, burn }] of pools.entries())
      await sql`
        update pools set watchdog_mode = ${poolMode ?? 1}, warning_threshold_pct = ${threshold},
                         enable_burn_rate_alerts = ${burn}
         where id = ${poolIds[n]}`.execute(q)
    for (const { id, status, suspension, seen: one, rows: ledger, alert, pool } of rows) {
      if (status === SimStatus.Suspended && suspension !== null)
        await sql`insert into suspensions (sim_id, cause, opened_at) values (${id}, ${suspension}, ${ago(1)})`.execute(
          q,
        )
      if (one !== null)
        await sql`
          insert into sim_sightings (sim_id, last_seen_at, imei, imei_seen_at, previous_imei, device_changes,
                                     device_changed_at, country, country_changed_at)
          values (${id}, ${ago(one.hoursAgo)}, '2', ${ago(one.hoursAgo)}, '', ${one.changes},
                  ${one.changes === 0 ? null : ago(one.changedHoursAgo)}, ${one.country},
                  ${one.country === 'FR' ? ago(one.changedHoursAgo) : null})`.execute(q)
      for (const row of ledger)
        await sql`
          insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing, bytes, voice_seconds, sms_count, sessions)
          values ('2026-11', ${id}, ${row.pool === 'own' ? (pool ?? 0) : row.pool}, ${row.tariff}, ${row.contributing},
                  ${row.mb * MB}, 61, ${row.smsCount}, ${row.sessions})
          on conflict do nothing`.execute(q)
      if (alert !== null) {
        const since = store.now - HOUR
        const state = { ...unseen(since), ...alert, episode: 1 }
        await sql`
          insert into alerts (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at, explanation)
          values (${alert.rule}, 1, ${id}, ${alert.scope}, ${JSON.stringify(state)}::jsonb,
                  ${alert.phase === 'firing'}, 1, ${ago(1)}, '[]')`.execute(q)
      }
    }
    // Sums that are not right are added up when they are read.
    await sql`
      insert into pool_cycles as p (cycle_key, pool_id, bytes, contributing, usage_version, summed_version)
      select '2026-11', id, coalesce(sum(bytes), 0), count(*) filter (where contributing), 1, 0
        from unnest(${[0, ...poolIds]}::integer[]) as ids(id) left join usage_ledger on pool_id = id group by id
      on conflict (tenant_id, cycle_key, pool_id) do update
         set bytes = excluded.bytes, contributing = excluded.contributing, usage_version = p.usage_version + 1`.execute(
      q,
    )
    if (receivedHours !== null)
      await sql`insert into usage_feeds (received_at, newest_at) values (${ago(receivedHours)}, ${ago(receivedHours)})`.execute(
        q,
      )
    if (silenced !== null)
      await sql`
        insert into silences (rule, reason, created_at, ends_at)
        values (${silenced}, 'tried', ${ago(1)}, ${ago(-1)})`.execute(q)
  })
}

const optionsOf = ({ set }: Pick<AnEstate, 'set'>) => ({ ...evaluationOptions(), rules: async () => sets[set] })

/** As a sweep does: the first look with a page of the others, then the rest of them page by page. */
async function swept(given: AnEstate, page: number) {
  const options = optionsOf(given)
  const { left, ...first } = await asTenant((tx) => lookAtRange(tx, { ...ALL, kind: 'sim' }, page, options))
  const looks: Look[] = [first]
  for (let at = 0; at < left.length; at += page)
    looks.push(await asTenant((tx) => lookAt(tx, left.slice(at, at + page), options)))
  return summed(looks)
}

const simOf = (id: number): Subject => ({ kind: 'sim', id })
const inStatus = ({ sims }: AnEstate, of: (status: SimStatus | undefined) => boolean) =>
  simIds.filter((_, n) => of(sims[n]?.status))
const provisioned = (given: AnEstate) => inStatus(given, (status) => status !== SimStatus.Unprovisioned)
const lookedAt = async (given: AnEstate) =>
  summed([await asTenant((tx) => lookAt(tx, simIds.map(simOf), optionsOf(given)))])

type Look = Pick<Awaited<ReturnType<typeof lookAt>>, 'suspects' | 'checks' | 'flipsAt'>
const summed = (looks: readonly Look[]) => ({
  suspects: looks.flatMap(({ suspects }) => suspects.map(({ id }) => id)).toSorted((a, b) => a - b),
  checks: Object.fromEntries(looks.flatMap(({ checks }) => [...checks]).toSorted()),
  flipsAt: Math.min(...looks.map(({ flipsAt }) => flipsAt)),
})

const RUNS = cases(60)
const passed = { over: 0, of: 0, overStock: 0, ofStock: 0 }
afterAll(() => {
  // A first look that passes over nobody would be right too.
  if (passed.of > 0) expect(passed.over / passed.of).toBeGreaterThan(0.1)
  if (passed.ofStock > 0) expect(passed.overStock / passed.ofStock).toBeGreaterThan(0.1)
})

describe('the first look of a sweep', () => {
  test('and a look at the others find what a look at all finds', async () => {
    await fc.assert(
      fc.asyncProperty(estate, async (given) => {
        await make(given)

        expect(await swept(given, 5)).toEqual(await lookedAt(given))
        const look = await asTenant(async (tx) => firstLook(tx, await readSituation(tx), sets[given.set], ALL))
        const unclear = new Set(look.unclear)
        expect(look.passed).toBe((given.set === 'stock' ? simIds : provisioned(given)).length)
        passed.of += provisioned(given).length
        passed.over += provisioned(given).filter((id) => !unclear.has(id)).length
        const inStock = inStatus(given, (status) => status === SimStatus.Unprovisioned)
        passed.ofStock += inStock.length
        passed.overStock += inStock.filter((id) => !unclear.has(id)).length
      }),
      { numRuns: RUNS },
    )
  })

  test('says of each SIM when time alone may change an answer', async () => {
    await fc.assert(
      fc.asyncProperty(estate, async (given) => {
        await make(given)
        const ids = simIds.slice(0, 6)
        const { flips, cycle } = await asTenant((tx) => lookAt(tx, ids.map(simOf), optionsOf(given)))
        const looks = await asTenant(async (tx) => {
          const situation = await readSituation(tx)
          const found = []
          for (const id of ids)
            found.push({
              id,
              ...(await firstLook(tx, situation, sets[given.set], { fromId: id, toId: id + 1, most: 1 })),
            })
          return found
        })

        for (const { id, unclear, flipsAt } of looks) {
          if (unclear.length > 0) continue
          const at = flips.find((one) => one.id === id)?.at.getTime() ?? cycle.endsAt
          expect(Math.min(flipsAt, cycle.endsAt)).toBe(at)
        }
      }),
      { numRuns: RUNS },
    )
  })

  const OF_LIMIT = new Set([...OF_OVERAGE, 'limitMB', 'usagePct', 'remainingMB', 'burnRatio'])

  test('goes by the facts that a look reads', async () => {
    const names = [...factsOf('sim').values()].filter(({ cost }) => cost === 'row').map(({ name }) => name)
    await fc.assert(
      fc.asyncProperty(estate, async (given) => {
        await make(given)
        const { lines, read } = await asTenant(async (tx: TenantTx) => {
          const situation = await readSituation(tx)
          const { moment } = situation
          const { line, several } = await readJudgedLines(tx, moment.cycle.key, ALL, true)
          const facts = new Map<number, Record<string, unknown>>()
          while (line.next()) {
            if (several.has(line.simId)) continue
            const known = names.filter(
              (name) => (line.isOverageKnown || !OF_OVERAGE.has(name)) && (line.isLimitKnown || !OF_LIMIT.has(name)),
            )
            const values = known.map((name) => [name, SIM_FACTS_BY_NAME.get(name)?.(line, moment)])
            facts.set(line.simId, Object.fromEntries(values))
          }
          return { lines: facts, read: await readSims(tx, situation, [...facts.keys()], NO_FACTS) }
        })

        for (const { id, facts } of read) expect(facts).toMatchObject(lines.get(id) ?? {})
      }),
      { numRuns: RUNS },
    )
  })

  test('ends before the first SIM beyond those it may take', async () => {
    const ids = await harness.activeSims(3, { poolId: poolIds[0] ?? 0 })
    const [first = 0, , third = 0] = ids
    const look = (most: number, fromId = first) =>
      asTenant(async (tx) => firstLook(tx, await readSituation(tx), sets.stock, { fromId, toId: null, most }))

    expect(await look(2)).toMatchObject({ passed: 2, beyond: third })
    expect(await look(3)).toMatchObject({ passed: 3, beyond: null })
    expect(await look(3, third + 1)).toMatchObject({ passed: 0, unclear: [], beyond: null })
  })

  test('leaves out SIMs that come in later, as in a replay', async () => {
    const [fromId = 0, later = 0] = await harness.unprovisioned(2)
    const look = () =>
      asTenant(async (tx) => firstLook(tx, await readSituation(tx), sets.stock, { ...ALL, fromId, toId: later + 1 }))
    const before = await look()
    await asTenant((tx) => sql`update sims set created_at = ${ago(-1)} where id = ${later}`.execute(tx.q))

    expect([before.passed, (await look()).passed]).toEqual([2, 1])
  })

  test('comes back for new SIMs where a rule watches stock', async () => {
    const look = (set: keyof typeof sets, toId: number | null) =>
      asTenant(async (tx) => firstLook(tx, await readSituation(tx), sets[set], { ...ALL, fromId: 1e8, toId }))
    const length = Date.UTC(2026, 11) - Date.UTC(2026, 10)

    expect(await look('stock', null)).toMatchObject({ passed: 0, flipsAt: store.now + length / 720 })
    expect(await look('stock', 1e9)).toMatchObject({ passed: 0, flipsAt: Number.POSITIVE_INFINITY })
    expect(await look('provisioned', null)).toMatchObject({ passed: 0, flipsAt: Number.POSITIVE_INFINITY })
  })
})

test('a look knows who suspended a SIM', async () => {
  const [simId = 0] = await harness.unprovisioned(1)
  const found: unknown[] = []
  const then = async (type: TicketType, cause?: Cause) => {
    await harness.complete({ simId, type, ...(cause && { cause }) })
    const read = await asTenant(async (tx) => readSims(tx, await readSituation(tx), [simId], NO_FACTS))
    found.push(read[0]?.facts.suspendedBy)
  }
  await then(TicketType.Provision)
  await then(TicketType.Activate)
  await then(TicketType.Suspend, { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' })
  await then(TicketType.Suspend)
  await then(TicketType.Activate)

  expect(found).toEqual(['notActivated', null, 'watchdog', 'person', null])
})
