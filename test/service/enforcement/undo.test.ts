import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { armSims } from '../../../service/enforcement/arm-sims.ts'
import { readSuspendingRules } from '../../../service/enforcement/rows/undo.ts'
import { passOverSims, undoInput, undoPage } from '../../../service/enforcement/undo-suspensions.ts'
import { aStore } from '../../setup/estate.ts'
import { askedPermits } from '../harness.ts'
import { aPoolOf, byWatchdog, NOW, RULE, THIS_CYCLE } from './enforced-pool.ts'

const store = await aStore()
const HOUR = 3_600_000
const iso = (ms: number) => new Date(ms).toISOString()

async function aPool(count: number) {
  const harness = await aPoolOf(store, count)
  const { poolId, runOf } = harness
  return {
    ...harness,
    suspend: (simId: number, rule = RULE) => harness.suspend(simId, byWatchdog(runOf(simId), rule)),
    permit: (simId: number, rule = RULE) =>
      harness.asTenant((tx) => askedPermits(tx, { rule, cycle: THIS_CYCLE, poolId, simIds: [simId], workflowId: 'w' })),
    /** Writes the alert of a rule about SIMs, with what the watchdog last requested for the SIM. */
    asked: (simId: number, lastSignal: 'overLimit' | 'would', rule = RULE) =>
      harness.fire({ kind: 'sim', id: simId }, { rule, lastSignal, lastSignalAt: new Date(store.now) }),
    page: (also: object = {}) =>
      harness.asTenant((tx) => undoPage(tx, { rule: RULE, since: iso(NOW), until: iso(NOW + HOUR), ...also })),
    passOver: (simIds: readonly number[]) => harness.asTenant((tx) => passOverSims(tx, { simIds: [...simIds] })),
    rowOf: async (simId: number) => (await harness.pool()).rows.find((row) => row.simId === simId),
  }
}

test('readSuspendingRules counts the suspended SIMs by rule, the last to suspend first', async () => {
  const { sims, suspend, complete, asTenant } = await aPool(5)
  const [a = 0, b = 0, back = 0, byOther = 0, byPerson = 0] = sims
  store.now = NOW
  for (const simId of [a, back]) await suspend(simId)
  await complete({ simId: byPerson, type: TicketType.Suspend })
  store.now = NOW + HOUR
  await suspend(b)
  await complete({ simId: back, type: TicketType.Activate })
  store.now = NOW + 2 * HOUR
  await suspend(byOther, 'sim-overage')

  expect((await asTenant(readSuspendingRules)).rules).toEqual([
    { rule: 'sim-overage', sims: 1, isWhole: true, firstAt: iso(NOW + 2 * HOUR), lastAt: iso(NOW + 2 * HOUR) },
    { rule: RULE, sims: 2, isWhole: true, firstAt: iso(NOW), lastAt: iso(NOW + HOUR) },
  ])
})

describe('undoPage', () => {
  test('pages through suspensions by rule and time', async () => {
    const { sims, suspend, page, runOf, complete } = await aPool(6)
    const [before = 0, a = 0, byOther = 0, byPerson = 0, b = 0, later = 0] = sims
    store.now = NOW - 1
    await suspend(before)
    store.now = NOW
    await suspend(a)
    await suspend(byOther, 'sim-overage')
    await complete({ simId: byPerson, type: TicketType.Suspend })
    store.now = NOW + HOUR - 1
    await suspend(b)
    store.now = NOW + HOUR
    await suspend(later)

    const found = [a, b].map((simId) => ({ simId, workflowId: runOf(simId), suspended: true }))
    expect(await page()).toEqual({ suspensions: found, total: 2, nextAfterSimId: null })
    expect(await page({ limit: 1 })).toEqual({ suspensions: found.slice(0, 1), total: 2, nextAfterSimId: a })
    const rest = { suspensions: found.slice(1), total: 1, nextAfterSimId: null }
    expect(await page({ limit: 1, afterSimId: a })).toEqual(rest)
    expect(await page({ rule: 'sim-overage' })).toMatchObject({ suspensions: [{ simId: byOther }] })
  })

  test('includes SIMs permitted or in grace', async () => {
    const { sims, suspend, page, permit, asked, complete, rows, runOf } = await aPool(6)
    const [permitted = 0, inGrace = 0, wouldBe = 0, byPerson = 0, byOther = 0, resumed = 0] = sims
    for (const simId of [permitted, byPerson, byOther, resumed]) await permit(simId)
    await asked(inGrace, 'overLimit')
    await asked(wouldBe, 'would')
    await asked(permitted, 'overLimit', 'another rule')
    await complete({ simId: byPerson, type: TicketType.Suspend })
    await suspend(byOther, 'another rule')
    await rows(sql`insert into workflow_starts (workflow_id, started_at, held) values (${runOf(resumed)}, now(), true)`)
    const { suspensions } = await page()

    expect(suspensions).toMatchObject([
      { simId: permitted, suspended: false },
      { simId: inGrace, suspended: false },
    ])
  })
})

describe('passOverSims', () => {
  test('keeps SIMs from suspension for the cycle', async () => {
    const { sims, sim, permit, page, passOver, rowOf, asTenant, rows, runOf } = await aPool(3)
    const [a = 0, b = 0, c = 0] = sims
    await permit(a)
    await permit(b)

    expect(await passOver([a, b, a])).toEqual({ passedOver: 2 })
    expect(await passOver([a])).toEqual({ passedOver: 1 })
    expect(await page()).toMatchObject({ suspensions: [], total: 0 })
    // A run that is about to suspend its SIM reads this first.
    expect([await sim(a), await sim(c)]).toMatchObject([{ passedOver: true }, { passedOver: false }])
    expect([await rowOf(a), await rowOf(b), await rowOf(c)]).toMatchObject([
      { held: true },
      { held: true },
      { held: false },
    ])
    const arm = { cycle: THIS_CYCLE, rule: RULE, ruleFile: 'f', grace: 'PT0S', until: 'renewal' } as const
    const armed = await asTenant((tx) => armSims(tx, { ...arm, signal: 'overLimit', simIds: sims }))
    expect(armed).toEqual({ told: 3, started: 1, armed: 0 })
    const started = await rows(sql<{ id: string }>`
      select workflow_id as id from workflow_outbox where request ->> 'do' = 'signalWithStart'`)
    expect(started).toEqual([{ id: runOf(c) }])
    await expect(passOver([a, 999_999])).rejects.toMatchObject({ code: 'sim_not_found' })
  })
})

describe('undoInput', () => {
  test('names one workflow per rule and time span', async () => {
    const { asTenant, tenantId } = await aPool(0)
    store.now = NOW
    const input = (also: object) =>
      asTenant(async (tx) => undoInput(tx, { rule: RULE, since: iso(NOW - HOUR), ...also }))

    const open = await input({})
    expect(open).toMatchObject({
      workflowId: `undo-suspensions:${tenantId}:${RULE}:${NOW - HOUR}`,
      input: { rule: RULE, since: iso(NOW - HOUR), until: iso(NOW) },
    })
    const closed = await input({ until: iso(NOW - 1) })
    expect(closed.workflowId).toBe(`${open.workflowId}-${NOW - 1}`)
    for (const wrong of [{ since: iso(NOW) }, { until: iso(NOW - HOUR) }]) {
      await expect(input(wrong)).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })
})
