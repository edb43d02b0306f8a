import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { summaryText } from '../../../adapters/channels/mail/text.ts'
import { summaryView } from '../../../adapters/channels/mail/views.ts'
import { TariffType, TicketType } from '../../../domain/codes.ts'
import { fromMoney } from '../../../domain/units.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { statementCsv } from '../../../service/month-end/statement-csv.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { readPoolFigures } from '../../../service/usage/rows/figures.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { overlapping } from '../../setup/lock-waits.ts'
import { complete } from '../harness.ts'
import {
  at,
  CLOSE,
  CYCLE,
  charge,
  close,
  closeNext,
  DAY,
  inOctober,
  MONTH_END,
  NEXT,
  notifications,
  statement,
  total,
} from './october.ts'

const store = await aStore()

const dayOf = (day: number) => new Date(at(day)).toISOString()
/** A ticket of the month end whose SIM becomes Active within October. */
const ACTIVATED_LATE = { type: TicketType.Activate, effectiveAt: new Date(at(5)), cause: MONTH_END } as const

describe('late usage', () => {
  test('adjusts the shared pool’s SIMs in the next statement', async () => {
    const harness = await inOctober(store)
    const poolId = await harness.aPool(TariffType['Dynamic Pool'], 1_000_000_000)
    const [first = 0, second = 0] = await harness.activeSims(2, { poolId })
    await harness.record([harness.usage(first, { bytesUp: 2_600_000_000 })])
    store.now = CLOSE
    await close(harness)
    const october = await statement(harness)
    store.now += DAY
    await harness.record([
      harness.usage(second, { at: dayOf(4), bytesUp: 1_800_000_000, smsCount: 2, voiceSeconds: 61 }),
    ])
    // A correction takes back more of October than came late.
    await harness.record([harness.usage(first, { at: dayOf(4), bytesUp: -600_000_000, correction: true })])

    await closeNext(store, harness)

    const lines = await statement(harness, NEXT)
    // 2.6 + 1.8 - 0.6 GB of 2 GB: 1.8 over, divided by the excess of 1.0 and 0.8; before it was 0.6, all the first's.
    const adjustments = lines.filter(({ kind }) => kind === 'adjustment')
    expect(adjustments).toMatchObject([
      { adjusts: CYCLE, poolId, simId: null, bytes: 1_200_000_000, overageBytes: 1_200_000_000 },
      { adjusts: CYCLE, poolId, simId: first, bytes: -600_000_000, overageBytes: 400_000_000 },
      { adjusts: CYCLE, poolId, simId: second, bytes: 1_800_000_000, overageBytes: 800_000_000 },
    ])
    expect(adjustments.map(charge)).toEqual([
      0,
      fromMoney(0.4 * 5),
      fromMoney(0.8 * 5) + 2 * fromMoney(0.05) + Math.round((61 * fromMoney(0.1)) / 60),
    ])
    expect(await statement(harness)).toEqual(october)
  })

  test('gives an empty cycle a statement and summary', async () => {
    const harness = await inOctober(store)
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
    const [simId = 0] = await harness.activeSims(1, { tariffId })
    await harness.complete({ simId, type: TicketType.Suspend })
    store.now = CLOSE
    await close(harness)
    await harness.record([harness.usage(simId, { at: dayOf(4), smsCount: 3 })])

    expect(await closeNext(store, harness)).toMatchObject({ statement: true })

    const lines = await statement(harness, NEXT)
    expect(lines.map(({ kind, adjusts, smsMicro }) => [kind, adjusts, smsMicro])).toEqual([
      ['adjustment', CYCLE, 3 * fromMoney(0.05)],
    ])
    const [, { body } = { body: undefined }] = await notifications(harness)
    if (body === undefined) throw new Error('no summary of the second cycle')
    expect(body).toMatchObject({
      cycle: { key: NEXT },
      figures: { usageMB: 0, chargesMicro: 3 * fromMoney(0.05) },
      pools: [],
      adjustments: [{ cycle: CYCLE, lines: 1, usageMB: 0, chargeMicro: 3 * fromMoney(0.05) }],
    })
    expect(summaryText(summaryView(body), [])).toContain('of which for 2026-10: 0.15 (1 adjustment, 0 MB)')
    const events = await harness.rows(sql<{ description: string }>`
      select description from events where title = ${`Billing cycle ${NEXT} closed`}`)
    expect(events).toMatchObject([
      { description: expect.stringContaining('charges EUR 0.15, of which 0.15 for 2026-10;') },
    ])
    const [header, row] = statementCsv(lines, 'EUR').trim().split('\r\n')
    expect(header?.split(',').slice(-4)).toEqual(['adjusts', 'tag', 'tariff', 'currency'])
    expect(row).toMatch(
      /^adjustment,,\d{19},0,0,0,0,3,0\.000000,0\.150000,0\.000000,0\.000000,0\.150000,2026-10,,tariff of \d+ bytes,EUR$/,
    )
  })
})

describe('closeCycle', () => {
  test('states usage counted during a close exactly once', async () => {
    const harness = await inOctober(store)
    const poolId = await harness.aPool(TariffType['Dynamic Pool'], 50)
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 50))
    const sims = [...(await harness.activeSims(3, { poolId })), ...(await harness.activeSims(3, { tariffId }))]
    const waiting = await harness.unprovisioned(3)
    for (const simId of waiting) await harness.complete({ simId, type: TicketType.Provision, poolId })
    store.now = CLOSE
    // Opens the next cycle, as the sweep does at the boundary and a worker does before it claims tickets.
    await harness.asTenant(currentCycle)

    const record = (i: number) =>
      harness.record([harness.usage(sims[i % sims.length] ?? 0, { at: dayOf(4), bytesUp: 100 + i, smsCount: 1 })])
    const activate = (simId: number) => harness.complete({ simId, ...ACTIVATED_LATE })
    await Promise.all([
      ...Array.from({ length: 10 }, (_, i) => record(i)),
      close(harness),
      ...waiting.map(activate),
      ...Array.from({ length: 10 }, (_, i) => record(10 + i)),
    ])
    await closeNext(store, harness)

    const said = [
      ...(await statement(harness)),
      ...(await statement(harness, NEXT)).filter(({ adjusts }) => adjusts === CYCLE),
    ]
    const ofSims = said.filter(({ simId }) => simId !== null)
    expect(total(ofSims, ({ bytes }) => bytes)).toBe(20 * 100 + 190)
    expect(total(ofSims, ({ smsCount }) => smsCount)).toBe(20)
    expect(total(ofSims, ({ feeMicro }) => feeMicro)).toBe(9 * fromMoney(1))
    const ofPool = said.filter((line) => line.simId === null && line.poolId === poolId)
    expect(total(ofPool, ({ limitBytes }) => limitBytes)).toBe(6 * 50)
  })

  test('waits for a change under way', async () => {
    const harness = await inOctober(store)
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
    const [simId = 0] = await harness.unprovisioned(1)
    store.now = CLOSE
    await harness.asTenant(currentCycle)
    await harness.complete({ simId, type: TicketType.Provision, tariffId })

    await overlapping(
      store,
      harness.tenantId,
      (tx) => complete(tx, { simId, ...ACTIVATED_LATE }),
      () => close(harness),
    )

    expect((await statement(harness)).map(({ kind, simId: sim, feeMicro }) => [kind, sim, feeMicro])).toEqual([
      ['sim', simId, fromMoney(1)],
    ])
  })

  test('states a difference once in two concurrent closes', async () => {
    const harness = await inOctober(store)
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
    const [simId = 0] = await harness.activeSims(1, { tariffId })
    store.now = CLOSE
    await close(harness)
    await harness.record([harness.usage(simId, { at: dayOf(4), smsCount: 5 })])
    for (const when of ['2026-11-02', '2026-12-02', '2027-01-01T06:00:00Z']) {
      store.now = Date.parse(when)
      await harness.asTenant(currentCycle)
    }
    // October's overage is divided already, so no close has to wait for that.
    await harness.asTenant((tx) => readPoolFigures(tx, CYCLE, [0]))

    await overlapping(
      store,
      harness.tenantId,
      (tx) => closeCycle(tx, NEXT),
      () => close(harness, '2026-12'),
    )

    const lines = [...(await statement(harness, NEXT)), ...(await statement(harness, '2026-12'))]
    expect(lines.flatMap(({ adjusts, smsCount }) => (adjusts === null ? [] : [smsCount]))).toEqual([5])
  })
})
