import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, PoolType, SimStatus, TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import type { ActionRequest } from '../../../domain/enforcement/enforcement.ts'
import { enforcePoolId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { logAction } from '../../../operations/enforcement/log-action.ts'
import { poolEnforcement, simEnforcement } from '../../../operations/enforcement/read-enforcement.ts'
import type { Subject } from '../../../store/due.ts'
import { rememberStarts } from '../../../store/outbox.ts'
import { saveAlerts } from '../../../store/watchdog/alerts.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { aHouse, type House } from '../harness.ts'

const store = await aStore()
const NOW = store.now
const CYCLE = '2026-11'
const RULE = 'pool-overage'
const SIM = 1
const POOL = 2

/** Writes an alert as an evaluation leaves it. */
const fire = (house: House, { kind, id }: Subject, also: { rule?: string; firing?: boolean; scope?: string } = {}) =>
  house.asTenant((tx) =>
    saveAlerts(tx, [
      {
        rule: RULE,
        kind,
        id,
        scope: CYCLE,
        firing: true,
        state: {},
        ruleVersion: 1,
        evaluatedAt: new Date(store.now++),
        explanation: null,
        lastSignal: null,
        lastSignalAt: null,
        ...also,
      },
    ]),
  )

/** A Dynamic pool of active SIMs that bring 100 bytes each. */
async function aPoolOf(count: number, mode: WatchdogMode = WatchdogMode.Enforce) {
  store.now = NOW
  const house = await aHouse(store)
  const poolId = await house.asTenant(async (tx) => {
    const tariff = await aTariff(tx, TariffType['Dynamic Pool'], 100)
    return (await aPool(tx, tariff.id, { type: PoolType.Dynamic, watchdogMode: mode })).id
  })
  const sims = await house.activeSims(count, { poolId })
  return {
    ...house,
    poolId,
    sims,
    use: (...bytes: number[]) => house.record(bytes.map((bytesUp, i) => house.usage(sims[i] ?? 0, { bytesUp }))),
    sim: (simId: number, rule: string | null = RULE, cycle = CYCLE) =>
      house.asTenant((tx) => simEnforcement(tx, simId, cycle, rule)),
    pool: (cycle = CYCLE) => house.asTenant((tx) => poolEnforcement(tx, poolId, cycle, RULE)),
    set: (simId: number, column: string, value: unknown) =>
      house.rows(sql`update sims set ${sql.ref(column)} = ${value} where id = ${simId} returning 1`),
    suspend: (simId: number, cause: Cause) => house.complete({ simId, type: TicketType.Suspend, cause }),
  }
}

const byWatchdog = (workflowId: string): Cause => ({
  by: 'watchdog',
  rule: RULE,
  cycle: CYCLE,
  until: 'renewal',
  workflowId,
})

describe('a SIM is over', () => {
  test('where its rule fires for it or for its pool, in this cycle or without one', async () => {
    const house = await aPoolOf(4)
    const [own = 0, scopeless = 0, cleared = 0, old = 0] = house.sims
    await fire(house, { kind: SIM, id: own })
    await fire(house, { kind: SIM, id: scopeless }, { scope: '' })
    await fire(house, { kind: SIM, id: cleared }, { firing: false })
    await fire(house, { kind: SIM, id: old }, { scope: '2026-10' })

    const over = async () => Promise.all(house.sims.map(async (simId) => (await house.sim(simId)).overLimit))
    const beforePool = await over()
    await fire(house, { kind: POOL, id: house.poolId }, { rule: 'another rule' })
    const otherRule = await over()
    await fire(house, { kind: POOL, id: house.poolId })

    expect(beforePool).toEqual([true, true, false, false])
    expect(otherRule).toEqual(beforePool)
    expect(await over()).toEqual([true, true, true, true])
  })

  test('by its overage where a person started the workflow', async () => {
    const house = await aPoolOf(2)
    const [big = 0, small = 0] = house.sims
    await house.use(201, 10)
    const within = await house.sim(big, null)
    await house.use(1)

    expect(within.overLimit).toBe(true)
    expect((await house.sim(small, null)).overLimit).toBe(false)
  })

  test('no more once the cycle has ended', async () => {
    const house = await aPoolOf(1)
    const [simId = 0] = house.sims
    await house.use(500)
    await fire(house, { kind: SIM, id: simId })
    await fire(house, { kind: POOL, id: house.poolId })

    store.now = Date.parse('2026-11-30T23:59:59.999Z')
    const last = [await house.sim(simId), await house.sim(simId, null), await house.pool()]
    store.now += 1
    const ended = [await house.sim(simId), await house.sim(simId, null), await house.pool()]

    expect(last).toMatchObject([{ overLimit: true }, { overLimit: true }, { over: true }])
    expect(ended).toMatchObject([{ overLimit: false }, { overLimit: false }, { over: false }])
  })
})

describe('what is known of a SIM before it is acted on', () => {
  test('is its state, its mode, and who suspended it', async () => {
    const house = await aPoolOf(3)
    const [active = 0, watched = 0, byPerson = 0] = house.sims
    await house.set(active, 'watchdog_mode', WatchdogMode.Monitor)
    await house.set(active, 'is_watchdog_exempt', true)
    await house.suspend(watched, byWatchdog('w'))
    await house.suspend(byPerson, { by: 'user' })

    expect(await house.sim(active)).toEqual({
      simId: active,
      iccid: expect.stringMatching(/^\d{19}$/),
      status: SimStatus.Active,
      poolId: house.poolId,
      processing: false,
      overLimit: false,
      mode: WatchdogMode.Monitor,
      exempt: true,
      enforcementEnabled: true,
      passedOver: false,
      suspension: null,
    })
    expect(await house.sim(watched)).toMatchObject({
      status: SimStatus.Suspended,
      mode: WatchdogMode.Enforce,
      suspension: { cause: 'watchdog', rule: RULE, cycle: CYCLE, until: 'renewal', workflowId: 'w' },
    })
    expect(await house.sim(byPerson)).toMatchObject({
      suspension: { cause: 'user', rule: null, until: null, workflowId: null },
    })
  })

  test('its own mode goes before its pool’s, but lets no rule of the pool go further than the pool', async () => {
    const house = await aPoolOf(1, WatchdogMode.Monitor)
    const [simId = 0] = house.sims
    await house.set(simId, 'watchdog_mode', WatchdogMode.Enforce)
    const byItself = await house.sim(simId)
    await fire(house, { kind: POOL, id: house.poolId })

    expect(byItself.mode).toBe(WatchdogMode.Enforce)
    expect((await house.sim(simId)).mode).toBe(WatchdogMode.Monitor)
  })

  test('and that the tenant has switched enforcement off', async () => {
    const house = await aPoolOf(1)
    await house.rows(sql`update tenants set enforcement_enabled = false returning 1`)

    expect(await house.sim(house.sims[0] ?? 0)).toMatchObject({ enforcementEnabled: false })
    expect(await house.pool()).toMatchObject({ enforcementEnabled: false })
  })

  test('one that is not there is told by code', async () => {
    const house = await aPoolOf(1)

    await expect(house.sim(2 ** 40)).rejects.toMatchObject({ code: 'sim_not_found' })
    await expect(house.sim(house.sims[0] ?? 0, RULE, '2026-13')).rejects.toMatchObject({ code: 'cycle_not_found' })
    await expect(house.asTenant((tx) => poolEnforcement(tx, 2 ** 30, CYCLE, RULE))).rejects.toMatchObject({
      code: 'pool_not_found',
    })
  })
})

describe('a pool', () => {
  test('says by how much it is over, and names its SIMs, the largest excess first', async () => {
    const house = await aPoolOf(4)
    const [a = 0, b = 0, c = 0, d = 0] = house.sims
    await house.use(250, 300, 50)
    await fire(house, { kind: POOL, id: house.poolId })

    const pool = await house.pool()

    expect(pool).toMatchObject({ over: true, overageBytes: 200, enforcementEnabled: true })
    const plain = { shareBytes: 100, stopped: false, exempt: false, weaker: false, held: false }
    expect(pool.rows).toEqual([
      { simId: b, usageBytes: 300, excessBytes: 200, ...plain },
      { simId: a, usageBytes: 250, excessBytes: 150, ...plain },
      { simId: c, usageBytes: 50, excessBytes: 0, ...plain },
      { simId: d, usageBytes: 0, excessBytes: 0, ...plain },
    ])
  })

  test('marks the SIMs that are not to be stopped', async () => {
    const house = await aPoolOf(5)
    const [exempt = 0, weaker = 0, stopped = 0, held = 0, plain = 0] = house.sims
    await house.use(200, 200, 200, 200, 200)
    await house.set(exempt, 'is_watchdog_exempt', true)
    await house.set(weaker, 'watchdog_mode', WatchdogMode.Monitor)
    const runs = [stopped, held].map((simId) => suspendOnOverageId(house.tenantId, simId, CYCLE))
    await house.asTenant((tx) => rememberStarts(tx, runs))
    await house.suspend(stopped, byWatchdog(runs[0] ?? ''))
    await house.suspend(held, byWatchdog(runs[1] ?? ''))
    await house.complete({ simId: held, type: TicketType.Activate })

    const marks = new Map((await house.pool()).rows.map((row) => [row.simId, row]))

    const no = { exempt: false, weaker: false, stopped: false, held: false }
    expect(marks.get(exempt)).toMatchObject({ ...no, exempt: true })
    expect(marks.get(weaker)).toMatchObject({ ...no, weaker: true })
    expect(marks.get(stopped)).toMatchObject({ ...no, stopped: true })
    expect(marks.get(held)).toMatchObject({ ...no, held: true })
    expect(marks.get(plain)).toMatchObject(no)
  })

  test('counts what is stopped and what is left alone, and names first whom it may pick', async () => {
    const house = await aPoolOf(6)
    const [exempt = 0, weaker = 0, stopped = 0, alsoStopped = 0, small = 0, large = 0] = house.sims
    await house.use(900, 900, 330, 140, 110, 150)
    await house.set(exempt, 'is_watchdog_exempt', true)
    await house.set(weaker, 'watchdog_mode', WatchdogMode.Monitor)
    await house.suspend(stopped, byWatchdog('w'))
    await house.suspend(alsoStopped, { by: 'user' })

    const pool = await house.pool()

    expect(pool).toMatchObject({ stoppedExcessBytes: 230 + 40, passedOver: 2 })
    expect(pool.rows.map(({ simId }) => simId)).toEqual([large, small, exempt, weaker, stopped, alsoStopped])
  })

  test('of a cycle that is yet to come is not over, and the cycle stays to come', async () => {
    const house = await aPoolOf(1)

    const pool = await house.pool('2027-03')

    expect(pool).toMatchObject({ over: false, overageBytes: 0, rows: [{ usageBytes: 0 }] })
    expect(await house.rows(sql`select key from cycles where key <> ${CYCLE}`)).toEqual([])
  })

  test('without an alert is not over, whatever it has used', async () => {
    const house = await aPoolOf(1)
    await house.use(500)

    expect(await house.pool()).toMatchObject({ over: false, overageBytes: 400, enforcementEnabled: true })
  })
})

describe('a person’s act on a SIM', () => {
  test('tells the watchdog’s run of this cycle, and no act of the watchdog does', async () => {
    const house = await aPoolOf(2)
    const [simId = 0, other = 0] = house.sims
    const run = suspendOnOverageId(house.tenantId, simId, CYCLE)
    await house.asTenant((tx) => rememberStarts(tx, [run, enforcePoolId(house.tenantId, house.poolId, CYCLE)]))
    const requests = () =>
      house.rows(sql<{ id: string; signal: string }>`
        select workflow_id as id, request ->> 'signal' as signal from workflow_outbox order by id`)

    await house.suspend(simId, byWatchdog(run))
    const afterWatchdog = await requests()
    await house.complete({ simId, type: TicketType.Activate })
    await house.complete({ simId: other, type: TicketType.Suspend })

    expect(afterWatchdog).toEqual([])
    expect(await requests()).toEqual([{ id: run, signal: 'personActed' }])
  })
})

describe('a person’s act on a SIM that a cycle before has suspended', () => {
  test.each([
    ['brings it back', TicketType.Activate],
    ['suspends it', TicketType.Suspend],
  ])('%s: the run that had suspended it is told', async (_what, type) => {
    const house = await aPoolOf(1)
    const [simId = 0] = house.sims
    const run = suspendOnOverageId(house.tenantId, simId, '2026-10')
    await house.asTenant((tx) => rememberStarts(tx, [run]))
    await house.suspend(simId, byWatchdog(run))

    await house.complete({ simId, type })

    const requests = sql`select workflow_id as id, request ->> 'signal' as signal from workflow_outbox order by id`
    expect(await house.rows(requests)).toEqual([{ id: run, signal: 'personActed' }])
  })
})

describe('an action of a workflow', () => {
  const ask = (simId: number, also: Partial<ActionRequest> = {}): ActionRequest => ({
    simId,
    cycle: CYCLE,
    rule: RULE,
    action: 'suspended',
    counter: 0,
    detail: 'it is 4 MB over',
    workflowId: 'w',
    ...also,
  })
  const notifications = (house: House) =>
    house.rows(sql<{ key: string; kind: string }>`
      select dedupe_key as key, body ->> 'kind' as kind from notifications order by id`)

  test('is logged once for each rule, SIM, cycle, action and counter', async () => {
    const house = await aPoolOf(2)
    const [simId = 0, other = 0] = house.sims
    const log = (one: ActionRequest) => house.asTenant((tx) => logAction(tx, one))

    const first = await log(ask(simId))
    const again = await Promise.all([log(ask(simId)), log(ask(simId, { detail: 'other words' }))])
    const others = [
      await log(ask(other)),
      await log(ask(simId, { counter: 1 })),
      await log(ask(simId, { rule: null })),
      await log(ask(simId, { cycle: '2026-12' })),
      await log(ask(simId, { action: 'broughtBack' })),
    ]

    expect(first).toEqual({ logged: true })
    expect(again).toEqual([{ logged: false }, { logged: false }])
    expect(others).toEqual(Array(5).fill({ logged: true }))
    const entries = await house.log()
    expect(entries).toHaveLength(6)
    expect(entries[0]).toMatchObject({
      simId,
      poolId: house.poolId,
      cycle: CYCLE,
      level: LogLevel.Critical,
      message: expect.stringMatching(/^SIM \d+ was suspended: it is 4 MB over$/),
    })
    expect(await notifications(house)).toEqual([])
  })

  test('is mailed once where a grace period begins or ends', async () => {
    const house = await aPoolOf(1)
    const [simId = 0] = house.sims
    for (const action of ['graceStarted', 'graceEnding', 'graceStarted'] as const) {
      await house.asTenant((tx) => logAction(tx, ask(simId, { action })))
    }

    expect((await notifications(house)).map(({ kind }) => kind)).toEqual(['graceStarted', 'graceEnding'])
  })

  test('is logged as Critical, once a rule, pool and cycle, where a pool has too little to pick', async () => {
    const house = await aPoolOf(1)
    const { poolId } = house
    const ofPool: ActionRequest = { ...ask(0), simId: null, poolId, action: 'tooLittleToPick' }
    const log = (one: ActionRequest) => house.asTenant((tx) => logAction(tx, one))

    expect(await log(ofPool)).toEqual({ logged: true })
    expect(await log({ ...ofPool, detail: 'other words' })).toEqual({ logged: false })
    expect(await log({ ...ofPool, rule: 'another-rule' })).toEqual({ logged: true })
    expect(await log({ ...ofPool, cycle: '2026-12' })).toEqual({ logged: true })
    expect((await house.log())[0]).toMatchObject({
      key: `${RULE}/pool/${poolId}/${CYCLE}/tooLittleToPick/0`,
      level: LogLevel.Critical,
      simId: null,
      message: 'Pool a pool stays over its capacity: it is 4 MB over',
    })
  })

  test('of a SIM or a pool that is not there, or of the other kind, is refused', async () => {
    const house = await aPoolOf(1)
    const [simId = 0] = house.sims
    const codeOf = (also: Partial<ActionRequest>) =>
      house.asTenant((tx) => logAction(tx, ask(simId, also))).catch(({ code }: { code: string }) => code)

    expect(await codeOf({ simId: 999_999 })).toBe('sim_not_found')
    expect(await codeOf({ simId: null, poolId: 999_999, action: 'tooLittleToPick' })).toBe('pool_not_found')
    expect(await codeOf({ action: 'tooLittleToPick' })).toBe('invalid_request')
    expect(await codeOf({ simId: null, poolId: house.poolId })).toBe('invalid_request')
    expect(await codeOf({ poolId: house.poolId })).toBe('invalid_request')
    expect(await house.log()).toEqual([])
  })
})
