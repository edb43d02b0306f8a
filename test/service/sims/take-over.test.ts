import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { SimStatus, TariffType, TicketType } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { prepareSoFar } from '../../../service/usage/used-so-far.ts'
import { evaluateSubjects } from '../../../service/watchdog/evaluate-subjects.ts'
import { connect } from '../../../store/connect.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { cases } from '../../setup/cases.ts'
import { aStore } from '../../setup/estate.ts'
import { holding } from '../../setup/lock-waits.ts'
import { everythingIn } from '../everything.ts'
import { aHarness, evaluationOptions, type Harness } from '../harness.ts'
import { HOUR, type Life, type Step, seen, takeBoth, theTwins } from './twins.ts'

/** Number of estates. */
const RUNS = cases(25)
const MOST_MS = 120_000 + RUNS * 8000
const store = await aStore()
/** Seven days into a cycle of ten. */
const AT = Date.parse('2026-11-10T12:00:00Z')
const SIMS = 4
const impatient = connect(store.databaseUrl, { max: 1, lockTimeoutMs: 100 })
const hasty = { ...store, clock: store.clock, db: impatient.db }
afterAll(() => impatient.close())

const anyPool = fc.constantFrom(0, 1, 2, null)
const anySim = fc.nat(SIMS - 1)
const amount = (max: number) => fc.oneof(fc.constant(0), fc.nat(max))
const life: fc.Arbitrary<Life> = fc.record({
  status: fc.constantFrom('unprovisioned', 'provisioned', 'active', 'active', 'suspended', 'suspended'),
  pool: anyPool,
  own: fc.boolean(),
  activeForHours: fc.integer({ min: 1, max: 20 * 24 }),
  bytes: amount(3000),
  voiceSeconds: amount(200),
  smsCount: amount(3),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom('activate' as const, 'suspend' as const, 'limit' as const, 'unassign' as const),
    sim: anySim,
  }),
  fc.record({ do: fc.constant('provision' as const), sim: anySim, pool: anyPool, own: fc.boolean() }),
  fc.record({ do: fc.constant('use' as const), sim: anySim, bytes: fc.nat(2000), hoursAgo: fc.nat(300) }),
  fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 60 }) }),
  fc.record({ do: fc.constant('turn' as const), sim: anySim, pool: anyPool }),
)

describe('a SIM that was taken over', () => {
  test('lives on as its twin that got there by tickets', { timeout: MOST_MS + 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(life, { minLength: SIMS, maxLength: SIMS }),
        fc.array(step, { maxLength: 12 }),
        async (lives, steps) => {
          const twins = await theTwins(store, AT, lives)
          const [byTickets, takenOver] = twins.sides
          expect(await seen(twins, takenOver)).toEqual(await seen(twins, byTickets))
          for (const one of [...steps, { do: 'turn', sim: 0, pool: 0 } as const]) {
            const [refused, alsoRefused] = await takeBoth(twins, one)
            expect(alsoRefused).toBe(refused)
            expect(await seen(twins, takenOver), JSON.stringify(one)).toEqual(await seen(twins, byTickets))
          }
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS },
    )
  })
})

let serial = 0
const anIccid = () => `8944501${String(++serial).padStart(12, '0')}`
const LONG_AGO = '2024-03-01T00:00:00Z'
const poolOf = (harness: Harness) => harness.aPool(TariffType.Standard, 100 * MB, { enableBurnRateAlerts: true })
const running = (more: object) => ({ iccid: anIccid(), status: SimStatus.Active, activatedAt: LONG_AGO, ...more })
const imported = async (harness: Harness, sims: readonly object[]) => {
  await prepareSoFar(store, harness.tenantId)
  const { created, rejected } = await harness.asTenant((tx) => importSims(tx, sims))
  expect(rejected).toEqual([])
  return created.map(({ id }) => id)
}

describe('a takeover', () => {
  test('writes nothing into cycles before its own', async () => {
    store.now = AT
    const harness = await aHarness(store)
    const poolId = await poolOf(harness)
    const [simId = 0] = await imported(harness, [running({ poolId, usageBytes: 7 })])

    await harness.record([harness.usage(simId, { bytesUp: 5, at: '2026-10-20T00:00:00Z' })])
    await harness.asTenant((tx) => closeCycle(tx, '2026-10'))

    expect(await harness.ledger()).toMatchObject([
      { cycle: '2026-10', poolId: 0, contributing: false, bytes: 5 },
      { cycle: '2026-11', poolId, contributing: true, bytes: 7 },
    ])
    const stated = await harness.rows(
      sql`select kind, sim_id is null as pool, fee_micro + overage_micro as micro from statements`,
    )
    expect(stated).toEqual([{ kind: 'sim', pool: false, micro: 0 }])
  })

  test('counts for a cycle that usage has opened early', async () => {
    store.now = Date.parse('2026-11-30T23:58:00Z')
    const harness = await aHarness(store)
    const poolId = await poolOf(harness)
    const [early = 0] = await harness.activeSims(1, { poolId })
    await harness.record([harness.usage(early, { bytesUp: 1, at: '2026-12-01T00:01:00Z' })])

    const [active, suspended] = await imported(harness, [
      running({ poolId, usageBytes: 7 }),
      running({ poolId, usageBytes: 8, status: SimStatus.Suspended }),
    ])

    const rows = (await harness.ledger()).filter(({ simId }) => simId !== early)
    expect(rows).toMatchObject([
      { cycle: '2026-11', simId: active, contributing: true, bytes: 7 },
      { cycle: '2026-11', simId: suspended, contributing: true, bytes: 8 },
      { cycle: '2026-12', simId: active, contributing: true, bytes: 0 },
    ])
  })

  test('raises no alarm over what was before it', async () => {
    await activateRules(store, await readRuleFiles(''), 'the tests')
    store.now = Date.parse('2026-11-20T12:00:00Z')
    const harness = await aHarness(store)
    const poolId = await poolOf(harness)
    const evaluate = () => evaluateSubjects(store, evaluationOptions(), harness.tenantId)
    const sims = await imported(harness, [running({ poolId, usageBytes: 60 * MB }), running({ poolId })])
    await evaluate()

    // The feed goes on for one of them. The other is silent for a tenth of the cycle.
    for (let hours = 0; hours < 80; hours += 5) {
      store.now += 5 * HOUR
      await harness.record([harness.usage(sims[0] ?? 0, { bytesUp: 1 })])
      await evaluate()
    }

    expect(await harness.log()).toEqual([])
  })

  test('meets usage, tickets and another takeover without deadlock', async () => {
    store.now = AT
    const harness = await aHarness(store)
    const pools = [await poolOf(harness), await poolOf(harness)]
    const others = await harness.activeSims(6, { poolId: pools[0] ?? 0 })
    const file = () => Array.from({ length: 300 }, (_, n) => running({ poolId: pools[n % 2] ?? 0, usageBytes: n + 1 }))

    await Promise.all([
      imported(harness, file()),
      imported(harness, file()),
      ...others.slice(0, 3).map((simId) => harness.complete({ simId, type: TicketType.Suspend })),
      ...others.map((simId) => harness.record([harness.usage(simId, { bytesUp: 1 })])),
      ...others.slice(3).map((simId) => harness.complete({ simId, type: TicketType.Provision, unassign: true })),
    ])

    const used = (await harness.ledger()).reduce((sum, { bytes }) => sum + bytes, 0)
    expect(used).toBe(2 * ((300 * 301) / 2) + 6)
  })

  test('that breaks off leaves nothing, and counts once when sent again', async () => {
    store.now = AT
    const harness = await aHarness(store)
    const poolId = await poolOf(harness)
    const sims = [running({ poolId, usageBytes: 7 }), running({ poolId, usageBytes: 8 })]
    await prepareSoFar(store, harness.tenantId)
    const before = await everythingIn(store.databaseUrl)
    // Its last work of all: what the cycle adds up to.
    const release = await holding(
      store.databaseUrl,
      `select from cycles where tenant_id = '${harness.tenantId}' for update`,
    )

    const broken = inTenant(hasty, harness.tenantId, (tx) => importSims(tx, sims))
    await expect(broken).rejects.toMatchObject({ code: '55P03' })
    await release()
    expect(await everythingIn(store.databaseUrl)).toEqual(before)
    await imported(harness, sims)
    const again = await harness.asTenant((tx) => importSims(tx, sims))

    expect(again.rejected.map(({ code }) => code)).toEqual(['sim_exists', 'sim_exists'])
    expect(again.totals).toMatchObject({ active: 0, usageBytes: 0 })
    expect((await harness.ledger()).map(({ bytes }) => bytes)).toEqual([7, 8])
  })
})
