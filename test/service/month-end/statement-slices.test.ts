import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { prepareClose, stateSlice } from '../../../service/month-end/close-cycle.ts'
import { planMonthEnd } from '../../../service/month-end/plan-month-end.ts'
import { allLines, type StatementLine } from '../../../service/month-end/rows/statements.ts'
import { currentCycle, cycleNamed } from '../../../service/usage/rows/cycles.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { overlapping } from '../../setup/lock-waits.ts'
import { at, CLOSE, CYCLE, close, closeIn, closeNext, inOctober, NEXT, notifications, statement } from './october.ts'

const DAY_4 = new Date(at(4)).toISOString()
const store = await aStore()

/** Three SIMs in each of two Dynamic pools and a Standard one, and three outside pools, with 100 bytes each. */
async function anEndedCycle() {
  const harness = await inOctober(store)
  const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
  const types = [TariffType['Dynamic Pool'], TariffType['Dynamic Pool'], TariffType.Standard]
  const places: { poolId: number; sims: number[] }[] = [{ poolId: 0, sims: await harness.activeSims(3, { tariffId }) }]
  for (const type of types) {
    const poolId = await harness.aPool(type)
    places.push({ poolId, sims: await harness.activeSims(3, { poolId }) })
  }
  await harness.record(places.flatMap(({ sims }) => sims.map((id) => harness.usage(id, { bytesUp: 100 }))))
  store.now = CLOSE
  await harness.asTenant(currentCycle)
  const cycle = await harness.asTenant((tx) => cycleNamed(tx, CYCLE))
  const slice = (tx: TenantTx) => stateSlice(tx, cycle, 3)
  return {
    ...harness,
    cycle,
    places,
    slice,
    /** Writes slices of three ledger rows. */
    slices: async (count: number) => {
      for (let n = 0; n < count; n++) await harness.asTenant(slice)
    },
    prepare: () => prepareClose(store, harness.tenantId, CYCLE, { rows: 3 }),
    late: (simId: number, bytesUp: number) => harness.record([harness.usage(simId, { at: DAY_4, bytesUp })]),
    /** Pool and SIM of each line, in order: 'own' is the pool's own. */
    stated: async (key = CYCLE) =>
      (await statement(harness, key)).map(({ poolId, simId, bytes }) => [poolId, simId ?? 'own', bytes]),
  }
}

async function readAll(tenantId: string) {
  const lines: StatementLine[] = []
  for await (const page of allLines(store, tenantId, CYCLE, {})) lines.push(...page)
  return lines
}

describe('a statement in slices', () => {
  test('has the lines of one written at once, in their order', async () => {
    const [sliced, whole] = [await anEndedCycle(), await anEndedCycle()]
    await sliced.prepare()
    await close(sliced)
    await close(whole)

    const inOrder = ({ places }: typeof sliced) =>
      places.flatMap(({ poolId, sims }) => [
        ...(poolId === 0 ? [] : [[poolId, 'own', 300]]),
        ...sims.map((id) => [poolId, id, 100]),
      ])
    expect(await sliced.stated()).toEqual(inOrder(sliced))
    expect(await whole.stated()).toEqual(inOrder(whole))
    const [ours, theirs] = await Promise.all([sliced, whole].map(async (one) => (await notifications(one))[0]?.body))
    const names = { tenantId: '', tenantName: '' }
    expect({ ...ours, ...names }).toEqual({ ...theirs, ...names })
  })

  test('is seen and told by nobody before its cycle is closed', async () => {
    const harness = await anEndedCycle()
    const told = async () => ({
      lines: await readAll(harness.tenantId),
      events: await harness.rows(sql`select title from events where title like 'Billing cycle%'`),
      notifications: await notifications(harness),
      audit: await harness.rows(sql`select from audit_log where subject = 'cycle' and subject_id = ${CYCLE}`),
      closed: await harness.rows(sql`select from cycles where closed_at is not null`),
    })
    const nothing = { lines: [], events: [], notifications: [], audit: [], closed: [] }
    await harness.slices(2)
    const early = await told()
    await harness.prepare()
    const complete = await told()
    const written = await harness.rows(sql`select from statements`)
    await close(harness)

    expect([early, complete]).toEqual([nothing, nothing])
    expect(written).toHaveLength(15)
    expect((await told()).lines).toHaveLength(15)
  })

  test('is written once by several callers at once', async () => {
    const harness = await anEndedCycle()
    await overlapping(store, harness.tenantId, harness.slice, () => harness.asTenant(harness.slice))
    const inTurn = await harness.rows(sql`select sim_id as id from statements order by statements.id`)
    await Promise.all([harness.prepare(), harness.prepare(), harness.prepare()])
    await Promise.all([close(harness), harness.prepare(), close(harness)])

    const [outside, first] = harness.places.map(({ sims }) => sims)
    expect(inTurn).toEqual([...(outside ?? []), null, ...(first ?? [])].map((id) => ({ id })))
    expect(await harness.stated()).toHaveLength(15)
    expect(await notifications(harness)).toHaveLength(1)
    expect(await harness.rows(sql`select from statement_progress`)).toEqual([])
    expect(await harness.rows(sql`select from restatements`)).toEqual([])
  })

  test('holds up no usage of other pools', async () => {
    const harness = await anEndedCycle()
    const [, first, second] = harness.places
    await harness.slices(1)
    await harness.asTenant(async (tx) => {
      await harness.slice(tx)
      await harness.late(second?.sims[0] ?? 0, 5)
    })
    await harness.prepare()
    await close(harness)

    expect(await harness.stated()).toContainEqual([first?.poolId, 'own', 300])
    expect(await harness.stated()).toContainEqual([second?.poolId, 'own', 305])
  })

  test('leaves what changes behind it to the next, and says so', async () => {
    const harness = await anEndedCycle()
    const [outside, first, second, standard] = harness.places.map(({ sims }) => sims)
    await harness.slices(2)
    for (const sims of [outside, first, second, standard]) await harness.late(sims?.[0] ?? 0, 7)
    const logged = (await harness.log()).map(({ simId }) => simId)
    await harness.prepare()
    await close(harness)
    await closeNext(store, harness)

    expect(logged).toEqual([outside?.[0], first?.[0]])
    const usage = (await statement(harness)).filter(({ kind }) => kind === 'sim').map(({ bytes }) => bytes)
    expect(usage).toEqual([100, 100, 100, 100, 100, 100, 107, 100, 100, 107, 100, 100])
    const adjusted = (await statement(harness, NEXT)).filter(({ kind }) => kind === 'adjustment')
    expect(adjusted.map(({ poolId, simId, bytes }) => [poolId, simId, bytes])).toEqual([
      [0, outside?.[0], 7],
      [harness.places[1]?.poolId, null, 7],
      [harness.places[1]?.poolId, first?.[0], 7],
    ])
  })

  test('adjusts a SIM that changes while the rest of its pool is stated', async () => {
    const harness = await anEndedCycle()
    const lastStated = async () =>
      (await harness.rows(sql<{ simId: number }>`select sim_id as "simId" from statements order by id desc limit 1`))[0]
    for (const simId of [harness.places[0]?.sims[1] ?? 0, harness.places[3]?.sims[1] ?? 0]) {
      while ((await lastStated())?.simId !== simId) await harness.asTenant((tx) => stateSlice(tx, harness.cycle, 1))
      await harness.late(simId, 7)
    }
    await prepareClose(store, harness.tenantId, CYCLE, { rows: 1 })
    await close(harness)
    await closeNext(store, harness)

    expect((await harness.stated()).filter(([, , bytes]) => bytes !== 100)).toEqual(
      harness.places.slice(1).map(({ poolId }) => [poolId, 'own', 300]),
    )
    const adjusted = (await statement(harness, NEXT)).filter(({ kind }) => kind === 'adjustment')
    const standard = harness.places[3]
    expect(adjusted.map(({ poolId, simId, bytes }) => [poolId, simId, bytes])).toEqual([
      [0, harness.places[0]?.sims[1], 7],
      [standard?.poolId, null, 7],
      [standard?.poolId, standard?.sims[1], 7],
    ])
  })

  test('cuts the SIMs outside pools in adjustments', async () => {
    const harness = await anEndedCycle()
    await close(harness)
    const [outside] = harness.places
    for (const id of outside?.sims ?? []) await harness.late(id, 7)
    store.now = Date.parse('2026-12-01T06:00:00Z')
    const november = await harness.asTenant((tx) => cycleNamed(tx, NEXT))
    const one = () => harness.asTenant((tx) => stateSlice(tx, november, 1))
    const adjustments = () =>
      harness.rows(sql<{ simId: number }>`
      select sim_id as "simId" from statements where kind = 'adjustment' order by id`)
    while ((await adjustments()).length === 0) await one()
    const first = await adjustments()
    // Marks its pool again: for December.
    await harness.late(outside?.sims[0] ?? 0, 2)
    const planned = await harness.asTenant((tx) => planMonthEnd(tx, NEXT))
    await prepareClose(store, harness.tenantId, NEXT, { rows: 1 })
    await close(harness, NEXT)
    await closeIn(store, harness, '2027-01', '2026-12')

    expect(first).toEqual([{ simId: outside?.sims[0] }])
    expect(planned.adjustments.first).toMatchObject([{ cycle: CYCLE, lines: 4 }])
    const bytes = async (key: string) =>
      (await statement(harness, key)).flatMap((line) => (line.adjusts === CYCLE ? [[line.simId, line.bytes]] : []))
    expect(await bytes(NEXT)).toEqual(outside?.sims.map((id) => [id, 7]))
    expect(await bytes('2026-12')).toEqual([[outside?.sims[0], 2]])
  })
})
