import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel } from '../../../domain/codes.ts'
import type { EnforcementChange, HoldState } from '../../../domain/enforcement/guard.ts'
import { enforcePoolId } from '../../../domain/temporal/ids.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { armSims } from '../../../service/enforcement/arm-sims.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { decideHold } from '../../../service/enforcement/decide-hold.ts'
import { pageOfHolds } from '../../../service/enforcement/rows/guard.ts'
import { endPermits, lockGuard } from '../../../service/enforcement/rows/permits.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { rememberStarts } from '../../../store/outbox.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { aStore, byHand } from '../../setup/estate.ts'
import { askedPermits } from '../harness.ts'
import { aPoolOf, NOW, RULE, THIS_CYCLE } from './enforced-pool.ts'

const store = await aStore()
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PERSON = { actor: 'key:anna', keyId: 'anna', requestId: 'r', action: 'releaseHold', workflowId: null }

/** A pool of SIMs, and a guard that permits 3 suspensions an hour, or half of the SIMs if that is more. */
async function aGuard(count: number, settings: EnforcementChange = { guardLeast: 3, guardPct: 50 }) {
  const harness = await aPoolOf(store, count)
  const { poolId } = harness
  await harness.asTenant((tx) => changeEnforcement(tx, settings))
  const workflowId = enforcePoolId(harness.tenantId, poolId, THIS_CYCLE)
  const ask = (simIds: readonly number[], also: { rule?: string; poolId?: number | null; cycle?: string } = {}) =>
    harness.asTenant((tx) =>
      askedPermits(tx, { rule: RULE, cycle: THIS_CYCLE, poolId, simIds: [...simIds], workflowId, ...also }),
    )
  const decide = (holdId: number | null, decision: 'released' | 'discarded', expected?: number) =>
    inTenant({ ...store, caller: PERSON }, harness.tenantId, (tx) => decideHold(tx, holdId ?? 0, decision, expected))
  return {
    ...harness,
    workflowId,
    ask,
    release: (holdId: number | null, expected?: number) => decide(holdId, 'released', expected),
    discard: (holdId: number | null) => decide(holdId, 'discarded'),
    /** Ends permits as an evaluation does when the alert clears or the watchdog stands down. */
    over: (cleared: boolean, one: { simId?: number; poolId?: number } = { poolId }) =>
      harness.asTenant(async (tx) => {
        await lockGuard(tx)
        await endPermits(tx, [{ rule: RULE, cycleKey: THIS_CYCLE, simId: null, poolId: null, ...one, cleared }])
      }),
    holds: async (state?: HoldState) =>
      (await harness.asTenant((tx) => pageOfHolds(tx, state === undefined ? {} : { state }))).data,
    signals: () =>
      harness.rows(sql<{ id: string; signal: string }>`
        select workflow_id as id, request ->> 'signal' as signal from workflow_outbox order by id`),
  }
}

describe('the guard', () => {
  test('grants guardLeast SIMs in request order, holds the rest', async () => {
    const { ask, sims, holds, poolId } = await aGuard(5, { guardLeast: 3, guardPct: 0 })
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = sims

    const answer = await ask([d, b, a, e, c])

    expect(answer).toEqual({ granted: [d, b, a], held: [e, c], discarded: [], delayed: [], holdId: expect.any(Number) })
    expect(await holds()).toEqual([
      {
        id: answer.holdId,
        what: 'suspensions',
        rule: RULE,
        ruleVersion: expect.any(Number),
        poolId,
        cycle: THIS_CYCLE,
        state: 'held',
        suspended: 3,
        allowed: 3,
        waiting: 2,
        openedAt: new Date(NOW).toISOString(),
        lapsesAt: '2026-12-01T00:00:00.000Z',
        decidedAt: null,
        decidedBy: null,
        decidedByName: null,
      },
    ])
  })

  test('grants a share of the pool or tenant', async () => {
    const { ask, sims, activeSims } = await aGuard(8)
    await activeSims(4)
    const [, ...others] = sims

    const ofPool = await ask(sims)
    const ofTenant = await ask(others, { rule: 'sim-overage', poolId: null })

    expect([ofPool.granted.length, ofPool.held.length]).toEqual([4, 4])
    expect([ofTenant.granted.length, ofTenant.held.length]).toEqual([6, 1])
  })

  test.each([
    ['in one request', (sims: number[]) => [sims]],
    ['in successive requests', (sims: number[]) => sims.map((sim) => [sim])],
    ['in concurrent requests', (sims: number[]) => sims.map((sim) => [sim]), true],
  ])('never exceeds the hourly limit: %s', async (_, split, atOnce = false) => {
    const { ask, sims, holds } = await aGuard(9, { guardLeast: 4, guardPct: 0 })

    const answers = []
    if (atOnce) answers.push(...(await Promise.all(split(sims).map((one) => ask(one)))))
    else for (const one of split(sims)) answers.push(await ask(one))

    expect(answers.flatMap(({ granted }) => granted)).toHaveLength(4)
    expect(answers.flatMap(({ held }) => held)).toHaveLength(5)
    expect(await holds()).toMatchObject([{ state: 'held', suspended: 4, waiting: 5 }])
  })

  test('gives a repeated request the same result', async () => {
    const { ask, sims, holds } = await aGuard(5, { guardLeast: 3, guardPct: 0 })
    const first = await ask(sims)
    const again = await ask(sims)
    const alone = await ask([sims[4] ?? 0], { poolId: null })

    expect(again).toEqual(first)
    expect(alone).toEqual({ granted: [], held: [sims[4]], discarded: [], delayed: [], holdId: first.holdId })
    expect(await holds()).toMatchObject([{ waiting: 2 }])
  })

  test('counts permits of the last hour only', async () => {
    const { ask, sims } = await aGuard(6, { guardLeast: 3, guardPct: 0 })
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = sims
    await ask([a, b])
    store.now = NOW + HOUR / 2
    await ask([c])
    store.now = NOW + HOUR + MINUTE
    const later = await ask([d, e, f])

    expect(later).toMatchObject({ granted: [d, e], held: [f] })
  })

  test('counts per rule, version, pool and tenant', async () => {
    const { ask, sims, holds } = await aGuard(3, { guardLeast: 2, guardPct: 0 })
    const other = await aGuard(3, { guardLeast: 2, guardPct: 0 })

    const held = [
      (await ask(sims)).held,
      (await other.ask(other.sims)).held,
      (await ask(sims, { rule: 'sim-overage' })).held,
    ]
    await activateRules(store, await readRuleFiles(''), 'the tests')
    const renewed = await ask(sims)

    expect(held.map(({ length }) => length)).toEqual([1, 1, 1])
    expect(renewed.granted).toEqual(sims.slice(0, 2))
    expect((await holds()).map(({ ruleVersion }) => ruleVersion)).toHaveLength(3)
  })

  test('counts a SIM in the pool that picked it', async () => {
    const { ask, sims, holds, poolId } = await aGuard(3, { guardLeast: 1, guardPct: 0 })
    await ask(sims.slice(0, 1))
    await activateRules(store, [...(await readRuleFiles(''))].slice(0, 9), 'the tests')
    const [first = 0, second = 0] = sims
    await ask([second])

    expect(await ask([first], { poolId: null })).toMatchObject({ held: [first] })
    expect(await holds('held')).toMatchObject([{ poolId }])
  })

  test('adds to an open hold until the cycle ends', async () => {
    const { ask, sims, holds, release, record, usage } = await aGuard(4, { guardLeast: 2, guardPct: 0 })
    const { holdId } = await ask(sims.slice(0, 3))
    store.now = NOW + 3 * HOUR
    const later = await ask(sims.slice(3))
    const december = Date.parse('2026-12-01T00:00:00Z')
    store.now = december
    // The feed is not stale.
    await record([usage(sims[3] ?? 0)])

    expect(later).toMatchObject({ granted: [], held: [sims[3]], holdId })
    expect(await holds('held')).toEqual([])
    expect(await holds('lapsed')).toMatchObject([{ id: holdId, state: 'lapsed', waiting: 2 }])
    await expect(release(holdId)).rejects.toMatchObject({ code: 'hold_not_open' })
    await expect(ask(sims)).rejects.toMatchObject({ code: 'sim_state_conflict' })
    expect(await ask(sims.slice(0, 2), { cycle: '2026-12' })).toMatchObject({ granted: sims.slice(0, 2) })
  })

  test('decides about no more than expected', async () => {
    const { ask, sims, release, holds } = await aGuard(5, { guardLeast: 2, guardPct: 0 })
    const { holdId } = await ask(sims)
    const message = `expect: got 2, but 3 wait in hold ${holdId} now.`

    await expect(release(holdId, 2)).rejects.toMatchObject({ code: 'hold_grown', message })
    expect(await holds('held')).toMatchObject([{ id: holdId, waiting: 3 }])
    expect(await release(holdId, 4)).toMatchObject({ state: 'released', decided: 3 })
    expect(await release(holdId, 0)).toMatchObject({ state: 'released', decided: 3 })
  })

  test('reports a hold once: log, event, notification, and a notice to the operator', async () => {
    const { ask, sims, log, rows, poolId, holds } = await aGuard(5, { guardLeast: 3, guardPct: 0 })
    const { holdId } = await ask(sims.slice(0, 4))
    await ask(sims)
    const ruleVersion = (await holds())[0]?.ruleVersion

    const message =
      `Decision needed: 1 suspension in pool a pool held. Rule ${RULE} of version ${ruleVersion} has suspended 3 SIMs there in the last hour; at most 3 go in an hour. ` +
      `The operator of the service decides on hold ${holdId} until 2026-12-01 00:00 UTC.`
    expect(await log()).toMatchObject([{ key: `guard/${holdId}`, level: LogLevel.Critical, simId: null, message }])
    expect(await rows(sql`select title, severity, type from events where title like 'Guard%'`)).toEqual([
      { title: `Guard held: ${RULE}, a pool`, severity: 2, type: 2 },
    ])
    expect(await rows(sql`select key, body, count from operator_notices`)).toEqual([
      {
        key: `guard/${holdId}`,
        body: {
          kind: 'decisionNeeded',
          holdId,
          what: 'suspensions',
          rule: RULE,
          pool: 'a pool',
          until: '2026-12-01T00:00:00.000Z',
        },
        count: 1,
      },
    ])
    expect(
      await rows(sql`select level, body -> 'subject' as subject, body ->> 'message' as message from notifications`),
    ).toEqual([{ level: LogLevel.Critical, subject: { kind: 'pool', id: poolId, label: 'a pool' }, message }])
  })

  test.each([
    ['a pool', (poolId: number) => ({ poolId })],
    ['the tenant', () => ({})],
  ])('reads fewer than 100 of 3000 SIMs: %s', async (_, assignment) => {
    const { asTenant, unprovisioned, poolId, workflowId } = await aGuard(0, { guardLeast: 1, guardPct: 10 })
    const sims = [...(await unprovisioned(1000)), ...(await unprovisioned(1000)), ...(await unprovisioned(1000))]
    const { poolId: pool = null } = { poolId: undefined, ...assignment(poolId) }
    await asTenant(async (tx) => {
      await byHand(tx)
      await sql`update sims set status = 1, pool_id = ${pool}, provisioned_at = ${tx.now}`.execute(tx.q)
    })
    await sql`vacuum analyze sims`.execute(store.db)

    const { granted, read } = await asTenant(async (tx) => {
      const readSoFar = async () => {
        const { rows } = await sql<{ read: number }>`
          select (seq_tup_read + idx_tup_fetch)::integer as read
            from pg_stat_xact_user_tables where relname = 'sims'`.execute(tx.q)
        return rows[0]?.read ?? 0
      }
      const before = await readSoFar()
      const ask = { rule: RULE, cycle: THIS_CYCLE, simIds: sims.slice(0, 2), workflowId, ...assignment(poolId) }
      const answer = await askedPermits(tx, ask)
      return { granted: answer.granted.length, read: (await readSoFar()) - before }
    })

    expect(granted).toBe(2)
    expect(read).toBeLessThan(100)
  })

  test('refuses an unknown SIM, pool or cycle', async () => {
    const { ask, sims } = await aGuard(1)

    await expect(ask([...sims, 999_999])).rejects.toMatchObject({ code: 'sim_not_found' })
    await expect(ask(sims, { poolId: 999_999 })).rejects.toMatchObject({ code: 'pool_not_found' })
    await expect(ask(sims, { cycle: '2026-13' })).rejects.toMatchObject({ code: 'cycle_not_found' })
  })
})

describe('a permit', () => {
  test('counts again after its alert clears', async () => {
    const { ask, sims, over } = await aGuard(3, { guardLeast: 3, guardPct: 0 })
    await ask(sims)
    await over(true)
    const again = await ask(sims)

    expect(again).toMatchObject({ granted: [], held: sims })
  })

  test('leaves its hold when its alert clears', async () => {
    const { ask, sims, over, holds, release, signals } = await aGuard(3, { guardLeast: 1, guardPct: 0 })
    const { holdId } = await ask(sims)
    await over(true)

    expect(await holds()).toMatchObject([{ waiting: 0 }])
    expect(await release(holdId)).toMatchObject({ decided: 0 })
    expect(await signals()).toEqual([])
  })

  test('counts again if requested after its alert cleared', async () => {
    const { ask, sims, poolId, fire } = await aGuard(4, { guardLeast: 2, guardPct: 0 })
    const [a = 0, b = 0, c = 0] = sims
    const alert = (firing: boolean) => fire({ kind: 'pool', id: poolId }, { firing, lastSignal: 'cleared' })
    await alert(false)
    await ask([a])
    await ask([b], { poolId: null })
    await alert(true)
    expect(await ask([a])).toMatchObject({ granted: [a] })
    expect(await ask([a, c])).toMatchObject({ granted: [a], held: [c] })
    expect(await ask([b])).toMatchObject({ granted: [], held: [b] })
  })

  test('stays granted when the watchdog stands down', async () => {
    const { ask, sims, over } = await aGuard(3, { guardLeast: 1, guardPct: 0 })
    const first = await ask(sims)
    await over(false)

    expect(await ask(sims)).toEqual(first)
  })

  test('ends only with the alert that requested it', async () => {
    const { ask, sims, over, holds } = await aGuard(5, { guardLeast: 1, guardPct: 0 })
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = sims
    const waiting = async () => new Map((await holds()).map((hold) => [hold.id, hold.waiting]))
    const { holdId: ofPool } = await ask([a, b])
    const { holdId: ofSim } = await ask([c, d, e], { poolId: null })
    const { holdId: ofOther } = await ask([c, d, e], { rule: 'sim-burn-rate', poolId: null })
    expect(await waiting()).toEqual(new Map([ofPool, ofSim, ofOther].map((hold, i) => [hold, i === 0 ? 1 : 2])))

    await over(true, { simId: b })
    await over(true, { simId: d })

    expect(await waiting()).toEqual(new Map([ofPool, ofSim, ofOther].map((hold, i) => [hold, i === 2 ? 2 : 1])))
  })
})

describe('a hold', () => {
  test('grants its SIMs and resets the count when released', async () => {
    const guard = await aGuard(6, { guardLeast: 2, guardPct: 0 })
    const { ask, sims, holds, release, signals, workflowId, asTenant } = guard
    const run = guard.runOf(sims[2] ?? 0)
    await asTenant((tx) => rememberStarts(tx, [workflowId, run]))
    const { holdId } = await ask(sims.slice(0, 4))

    expect(await release(holdId)).toEqual({ id: holdId, state: 'released', decided: 2 })
    expect(await signals()).toEqual([
      { id: workflowId, signal: 'guardReleased' },
      { id: run, signal: 'guardReleased' },
    ])
    expect(await holds()).toMatchObject([
      { state: 'released', waiting: 2, decidedAt: new Date(NOW).toISOString(), decidedBy: 'anna' },
    ])
    expect(await ask(sims)).toMatchObject({ granted: sims, held: [], holdId: null })
  })

  test('leaves its SIMs alone when discarded', async () => {
    const { ask, sims, discard, signals, workflowId, over } = await aGuard(5, { guardLeast: 2, guardPct: 0 })
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = sims
    const { holdId } = await ask([a, b, c, d])

    expect(await discard(holdId)).toEqual({ id: holdId, state: 'discarded', decided: 2 })
    expect(await signals()).toEqual([{ id: workflowId, signal: 'guardDiscarded' }])
    const again = await ask(sims)
    expect(again).toMatchObject({ granted: [a, b], held: [e], discarded: [c, d] })
    expect(again.holdId).not.toBe(holdId)
    await over(true)
    store.now += HOUR + MINUTE
    await discard(again.holdId)
    expect(await ask([c, d])).toMatchObject({ granted: [c, d] })
  })

  test('accepts one decision only', async () => {
    const { ask, sims, release, discard, signals, rows, log } = await aGuard(3, { guardLeast: 1, guardPct: 0 })
    const { holdId } = await ask(sims)
    await release(holdId)

    expect(await release(holdId)).toEqual({ id: holdId, state: 'released', decided: 2 })
    await expect(discard(holdId)).rejects.toMatchObject({ code: 'hold_not_open' })
    await expect(release(999_999)).rejects.toMatchObject({ code: 'hold_not_found' })
    expect(await signals()).toHaveLength(1)
    expect((await log()).map(({ key }) => key)).toEqual([`guard/${holdId}`, `guard/${holdId}/released`])
    expect(await rows(sql`select subject_id as id, key_id as by, after from audit_log where subject = 'hold'`)).toEqual(
      [{ id: String(holdId), by: 'anna', after: { state: 'released', decided: 2 } }],
    )
  })
})

describe('changeEnforcement', () => {
  test('records a switch-off once and asks for a look at all subjects', async () => {
    const { asTenant, rows, tenantId } = await aGuard(2)
    const change = (ask: EnforcementChange) =>
      inTenant({ ...store, caller: PERSON }, tenantId, (tx) => changeEnforcement(tx, ask))
    await asTenant((tx) => sql`update watch_shards set next_at = ${new Date(NOW + HOUR)}`.execute(tx.q))
    const due = async () => (await rows(sql`select from watch_shards where next_at <= ${new Date(NOW)}`)).length

    const off = await change({ enabled: false })
    const dueAfter = await due()
    const again = await change({ enabled: false })
    const limits = await change({ guardPct: 2.5, guardLeast: null })

    expect([off, again]).toMatchObject(Array(2).fill({ enabled: false, guardLeast: 3, guardPct: 50 }))
    const own = { enabled: false, guardLeast: 3, guardPct: 2.5 }
    expect(limits).toMatchObject({ ...own, alertGuardLeast: 50, alertGuardPct: 2 })
    expect(dueAfter).toBe(4)
    expect(await rows(sql`select title from events where title like 'Enforcement%' order by id`)).toEqual([
      { title: 'Enforcement changed' },
      { title: 'Enforcement switched off' },
      { title: 'Enforcement changed' },
    ])
    expect(
      await rows(sql`select after ->> 'enabled' as on from audit_log where subject = 'tenant' order by id`),
    ).toEqual([{ on: 'false' }, { on: 'false' }])
  })
})

describe('armSims', () => {
  test('starts one run per SIM and cycle', async () => {
    const { asTenant, sims, rows, runOf } = await aGuard(3)
    const ask = { cycle: THIS_CYCLE, rule: RULE, ruleFile: 'f.json', grace: 'PT0S', until: 'renewal' } as const
    const arm = (signal: 'overLimit' | 'cleared' | 'standDown', simIds: readonly number[]) =>
      asTenant((tx) => armSims(tx, { ...ask, simIds: [...simIds], signal }))
    const [a = 0, b = 0, c = 0] = sims

    expect(await arm('cleared', sims)).toEqual({ told: 0, started: 0, armed: 0 })
    expect(await arm('overLimit', [a, b, a])).toEqual({ told: 2, started: 2, armed: 0 })
    expect(await arm('overLimit', sims)).toEqual({ told: 3, started: 1, armed: 0 })
    expect(await arm('standDown', sims)).toEqual({ told: 3, started: 0, armed: 0 })
    await expect(arm('overLimit', [a, 999_999])).rejects.toMatchObject({ code: 'sim_not_found' })
    store.now = Date.parse('2026-12-01T00:00:00Z')
    await expect(arm('overLimit', sims)).rejects.toMatchObject({ code: 'sim_state_conflict' })
    const asked = await rows(sql<{ simId: string; how: string }>`
      select workflow_id as "simId", (request ->> 'do') || ' ' || (request ->> 'signal') as how from workflow_outbox order by id`)
    expect(asked.map(({ simId, how }) => `${simId} ${how}`)).toEqual([
      `${runOf(a)} signalWithStart overLimit`,
      `${runOf(b)} signalWithStart overLimit`,
      `${runOf(a)} signal overLimit`,
      `${runOf(b)} signal overLimit`,
      `${runOf(c)} signalWithStart overLimit`,
      ...sims.map((simId) => `${runOf(simId)} signal standDown`),
    ])
  })
})
