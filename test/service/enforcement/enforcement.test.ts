import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, SimStatus, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import type { ActionRequest } from '../../../domain/enforcement/enforcement.ts'
import { enforcePoolId } from '../../../domain/temporal/ids.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { poolEnforcement } from '../../../service/enforcement/read-enforcement.ts'
import { rememberStarts } from '../../../store/outbox.ts'
import { aStore } from '../../setup/estate.ts'
import type { Harness } from '../harness.ts'
import { aPoolOf, byWatchdog, RULE, THIS_CYCLE } from './enforced-pool.ts'

const store = await aStore()
const set = (harness: Harness, simId: number, column: string, value: unknown) =>
  harness.rows(sql`update sims set ${sql.ref(column)} = ${value} where id = ${simId}`)

describe('simEnforcement', () => {
  test('reports a SIM over while its rule fires', async () => {
    const harness = await aPoolOf(store, 4)
    const [own = 0, scopeless = 0, cleared = 0, old = 0] = harness.sims
    await harness.fire({ kind: 'sim', id: own })
    await harness.fire({ kind: 'sim', id: scopeless }, { scope: '' })
    await harness.fire({ kind: 'sim', id: cleared }, { firing: false })
    await harness.fire({ kind: 'sim', id: old }, { scope: '2026-10' })

    const over = async () => Promise.all(harness.sims.map(async (simId) => (await harness.sim(simId)).overLimit))
    const beforePool = await over()
    await harness.fire({ kind: 'pool', id: harness.poolId }, { rule: 'another rule' })
    const otherRule = await over()
    await harness.fire({ kind: 'pool', id: harness.poolId })

    expect(beforePool).toEqual([true, true, false, false])
    expect(otherRule).toEqual(beforePool)
    expect(await over()).toEqual([true, true, true, true])
  })

  test('uses the overage when no rule is given', async () => {
    const harness = await aPoolOf(store, 2)
    const [big = 0, small = 0] = harness.sims
    await harness.use(201, 10)
    const within = await harness.sim(big, null)
    await harness.use(1)

    expect(within.overLimit).toBe(true)
    expect((await harness.sim(small, null)).overLimit).toBe(false)
  })

  test('reports nothing over once the cycle has ended', async () => {
    const harness = await aPoolOf(store, 1)
    const [simId = 0] = harness.sims
    await harness.use(500)
    await harness.fire({ kind: 'sim', id: simId })
    await harness.fire({ kind: 'pool', id: harness.poolId })

    store.now = Date.parse('2026-11-30T23:59:59.999Z')
    const last = [await harness.sim(simId), await harness.sim(simId, null), await harness.pool()]
    store.now += 1
    const ended = [await harness.sim(simId), await harness.sim(simId, null), await harness.pool()]

    expect(last).toMatchObject([{ overLimit: true }, { overLimit: true }, { over: true }])
    expect(ended).toMatchObject([{ overLimit: false }, { overLimit: false }, { over: false }])
  })

  test('returns SIM state, mode and who suspended it', async () => {
    const harness = await aPoolOf(store, 3)
    const [active = 0, watched = 0, byPerson = 0] = harness.sims
    await set(harness, active, 'watchdog_mode', WatchdogMode.Monitor)
    await set(harness, active, 'is_watchdog_exempt', true)
    await harness.suspend(watched, byWatchdog('w'))
    await harness.suspend(byPerson, { by: 'user' })

    expect(await harness.sim(active)).toEqual({
      simId: active,
      iccid: expect.stringMatching(/^\d{19}$/),
      status: SimStatus.Active,
      poolId: harness.poolId,
      processing: false,
      overLimit: false,
      mode: WatchdogMode.Monitor,
      exempt: true,
      enforcementEnabled: true,
      passedOver: false,
      refused: false,
      suspension: null,
    })
    expect(await harness.sim(watched)).toMatchObject({
      status: SimStatus.Suspended,
      mode: WatchdogMode.Enforce,
      suspension: { cause: 'watchdog', rule: RULE, cycle: THIS_CYCLE, until: 'renewal', workflowId: 'w' },
    })
    expect(await harness.sim(byPerson)).toMatchObject({
      suspension: { cause: 'user', rule: null, until: null, workflowId: null },
    })
  })

  test('reports that the tenant has switched enforcement off', async () => {
    const harness = await aPoolOf(store, 1)
    await harness.rows(sql`update tenants set enforcement_enabled = false returning 1`)

    expect(await harness.sim(harness.sims[0] ?? 0)).toMatchObject({ enforcementEnabled: false })
    expect(await harness.pool()).toMatchObject({ enforcementEnabled: false })
  })

  test('refuses an unknown SIM, pool or cycle', async () => {
    const harness = await aPoolOf(store, 1)

    await expect(harness.sim(2 ** 40)).rejects.toMatchObject({ code: 'sim_not_found' })
    await expect(harness.sim(harness.sims[0] ?? 0, RULE, '2026-13')).rejects.toMatchObject({ code: 'cycle_not_found' })
    await expect(harness.asTenant((tx) => poolEnforcement(tx, 2 ** 30, THIS_CYCLE, RULE))).rejects.toMatchObject({
      code: 'pool_not_found',
    })
  })
})

describe('poolEnforcement', () => {
  test('lists SIMs by excess, the largest first', async () => {
    const harness = await aPoolOf(store, 4)
    const [a = 0, b = 0, c = 0, d = 0] = harness.sims
    await harness.use(250, 300, 50)
    await harness.fire({ kind: 'pool', id: harness.poolId })

    const pool = await harness.pool()

    expect(pool).toMatchObject({ over: true, overageBytes: 200, enforcementEnabled: true })
    const plain = { shareBytes: 100, stopped: false, exempt: false, weaker: false, held: false, refused: false }
    expect(pool.rows).toEqual([
      { simId: b, usageBytes: 300, excessBytes: 200, ...plain },
      { simId: a, usageBytes: 250, excessBytes: 150, ...plain },
      { simId: c, usageBytes: 50, excessBytes: 0, ...plain },
      { simId: d, usageBytes: 0, excessBytes: 0, ...plain },
    ])
  })

  test('marks SIMs that may not be picked', async () => {
    const harness = await aPoolOf(store, 5)
    const [exempt = 0, weaker = 0, stopped = 0, held = 0, plain = 0] = harness.sims
    await harness.use(200, 200, 200, 200, 200)
    await set(harness, exempt, 'is_watchdog_exempt', true)
    await set(harness, weaker, 'watchdog_mode', WatchdogMode.Monitor)
    const runs = [stopped, held].map((simId) => harness.runOf(simId))
    await harness.asTenant((tx) => rememberStarts(tx, runs))
    await harness.suspend(stopped, byWatchdog(runs[0] ?? ''))
    await harness.suspend(held, byWatchdog(runs[1] ?? ''))
    await harness.complete({ simId: held, type: TicketType.Activate })

    const marks = new Map((await harness.pool()).rows.map((row) => [row.simId, row]))

    const no = { exempt: false, weaker: false, stopped: false, held: false, refused: false }
    expect(marks.get(exempt)).toMatchObject({ ...no, exempt: true })
    expect(marks.get(weaker)).toMatchObject({ ...no, weaker: true })
    expect(marks.get(stopped)).toMatchObject({ ...no, stopped: true })
    expect(marks.get(held)).toMatchObject({ ...no, held: true })
    expect(marks.get(plain)).toMatchObject(no)
  })

  test('lists first the SIMs that may be picked', async () => {
    const harness = await aPoolOf(store, 6)
    const [exempt = 0, weaker = 0, stopped = 0, alsoStopped = 0, small = 0, large = 0] = harness.sims
    await harness.use(900, 900, 330, 140, 110, 150)
    await set(harness, exempt, 'is_watchdog_exempt', true)
    await set(harness, weaker, 'watchdog_mode', WatchdogMode.Monitor)
    await harness.suspend(stopped, byWatchdog('w'))
    await harness.suspend(alsoStopped, { by: 'user' })

    const pool = await harness.pool()

    expect(pool).toMatchObject({ stoppedExcessBytes: 230 + 40, passedOver: 2 })
    expect(pool.rows.map(({ simId }) => simId)).toEqual([large, small, exempt, weaker, stopped, alsoStopped])
  })

  test('reports a future cycle without opening it', async () => {
    const harness = await aPoolOf(store, 1)

    expect(await harness.pool('2027-03')).toMatchObject({ over: false, overageBytes: 0, rows: [{ usageBytes: 0 }] })
    expect(await harness.rows(sql`select key from cycles where key <> ${THIS_CYCLE}`)).toEqual([])
  })

  test('needs an alert to report a pool over', async () => {
    const harness = await aPoolOf(store, 1)
    await harness.use(500)

    expect(await harness.pool()).toMatchObject({ over: false, overageBytes: 400, enforcementEnabled: true })
  })
})

describe('a person’s ticket on a SIM', () => {
  test('signals the SIM’s run of this cycle', async () => {
    const harness = await aPoolOf(store, 2)
    const [simId = 0, other = 0] = harness.sims
    const run = harness.runOf(simId)
    await harness.asTenant((tx) =>
      rememberStarts(tx, [run, enforcePoolId(harness.tenantId, harness.poolId, THIS_CYCLE)]),
    )
    const requests = () =>
      harness.rows(sql<{ id: string; signal: string }>`
        select workflow_id as id, request ->> 'signal' as signal from workflow_outbox order by id`)

    await harness.suspend(simId, byWatchdog(run))
    const afterWatchdog = await requests()
    await harness.complete({ simId, type: TicketType.Activate })
    await harness.complete({ simId: other, type: TicketType.Suspend })

    expect(afterWatchdog).toEqual([])
    expect(await requests()).toEqual([{ id: run, signal: 'personActed' }])
  })
})

describe('a person’s ticket on a SIM suspended last cycle', () => {
  test.each([
    ['activate', TicketType.Activate],
    ['suspend', TicketType.Suspend],
  ])('signals the run that suspended it: %s', async (_what, type) => {
    const harness = await aPoolOf(store, 1)
    const [simId = 0] = harness.sims
    const run = harness.runOf(simId, '2026-10')
    await harness.asTenant((tx) => rememberStarts(tx, [run]))
    await harness.suspend(simId, byWatchdog(run))

    await harness.complete({ simId, type })

    const requests = sql`select workflow_id as id, request ->> 'signal' as signal from workflow_outbox order by id`
    expect(await harness.rows(requests)).toEqual([{ id: run, signal: 'personActed' }])
  })
})

describe('logAction', () => {
  const ask = (simId: number, also: Partial<ActionRequest> = {}): ActionRequest => ({
    simId,
    cycle: THIS_CYCLE,
    rule: RULE,
    action: 'suspended',
    counter: 0,
    detail: 'it is 4 MB over',
    workflowId: 'w',
    ...also,
  })
  const notifications = (harness: Harness) =>
    harness.rows(sql<{ key: string; kind: string }>`
      select dedupe_key as key, body ->> 'kind' as kind from notifications order by id`)

  test('logs once per rule, SIM, cycle, action and counter', async () => {
    const harness = await aPoolOf(store, 2)
    const [simId = 0, other = 0] = harness.sims
    const log = (one: ActionRequest) => harness.asTenant((tx) => logAction(tx, one))

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
    const entries = await harness.log()
    expect(entries).toHaveLength(6)
    expect(entries[0]).toMatchObject({
      simId,
      poolId: harness.poolId,
      cycle: THIS_CYCLE,
      level: LogLevel.Critical,
      message: expect.stringMatching(/^SIM \d+ was suspended it is 4 MB over$/),
    })
    // The first suspension has ended before it was mailed.
    expect(await notifications(harness)).toEqual(entries.slice(1, 5).map(({ key }) => ({ key, kind: 'suspended' })))
  })

  test('notifies once per grace start and grace ending', async () => {
    const harness = await aPoolOf(store, 1)
    const [simId = 0] = harness.sims
    for (const action of ['graceStarted', 'graceEnding', 'graceStarted'] as const) {
      await harness.asTenant((tx) => logAction(tx, ask(simId, { action })))
    }

    expect((await notifications(harness)).map(({ kind }) => kind)).toEqual(['graceStarted', 'graceEnding'])
  })

  test('shows instants of workflows in the tenant’s time zone, and amounts with three digits', async () => {
    const harness = await aPoolOf(store, 1)
    const [simId = 0] = harness.sims
    await harness.asTenant((tx) => sql`update tenants set time_zone = 'Europe/Berlin'`.execute(tx.q))
    const detail = 'suspended at 2026-11-22T10:00:00.000Z unless it comes back under its limit; 12.345678 MB over'

    await harness.asTenant((tx) => logAction(tx, ask(simId, { action: 'graceStarted', detail })))

    const said = 'suspended at 2026-11-22 11:00 +01:00 (10:00 UTC) unless it comes back under its limit; 12.3 MB over'
    expect((await harness.log())[0]?.message).toMatch(new RegExp(`: ${said.replace(/[()+.]/g, '\\$&')}$`))
    const bodies = sql`
      select body ->> 'whatNext' as "whatNext", body ->> 'follows' as follows from notifications`
    expect(await harness.rows(bodies)).toEqual([
      { whatNext: `It is ${said}.`, follows: 'suspended at 2026-11-22 11:00 +01:00' },
    ])
  })

  test('logs tooLittleToPick once per rule, pool and cycle', async () => {
    const harness = await aPoolOf(store, 1)
    const { poolId } = harness
    const ofPool: ActionRequest = { ...ask(0), simId: null, poolId, action: 'tooLittleToPick' }
    const log = (one: ActionRequest) => harness.asTenant((tx) => logAction(tx, one))

    expect(await log(ofPool)).toEqual({ logged: true })
    expect(await log({ ...ofPool, detail: 'other words' })).toEqual({ logged: false })
    expect(await log({ ...ofPool, rule: 'another-rule' })).toEqual({ logged: true })
    expect(await log({ ...ofPool, cycle: '2026-12' })).toEqual({ logged: true })
    expect((await harness.log())[0]).toMatchObject({
      key: `${RULE}/pool/${poolId}/${THIS_CYCLE}/tooLittleToPick/0`,
      level: LogLevel.Critical,
      simId: null,
      message: 'Pool a pool stays over its capacity: it is 4 MB over',
    })
  })

  test('refuses an unknown or mismatched subject', async () => {
    const harness = await aPoolOf(store, 1)
    const [simId = 0] = harness.sims
    const codeOf = (also: Partial<ActionRequest>) =>
      harness.asTenant((tx) => logAction(tx, ask(simId, also))).catch(({ code }: { code: string }) => code)

    expect(await codeOf({ simId: 999_999 })).toBe('sim_not_found')
    expect(await codeOf({ simId: null, poolId: 999_999, action: 'tooLittleToPick' })).toBe('pool_not_found')
    expect(await codeOf({ action: 'tooLittleToPick' })).toBe('invalid_request')
    expect(await codeOf({ simId: null, poolId: harness.poolId })).toBe('invalid_request')
    expect(await codeOf({ poolId: harness.poolId })).toBe('invalid_request')
    expect(await harness.log()).toEqual([])
  })
})
