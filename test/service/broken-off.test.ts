/** Work that fails on a lock timeout stays due, and is done when the lock is free. */
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { LogLevel, TariffType, TicketStatus, TicketType } from '../../domain/codes.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { activateRules } from '../../service/rules/rules-in-force.ts'
import { executeTickets } from '../../service/tickets/execute-tickets.ts'
import { openTicket } from '../../service/tickets/open-ticket.ts'
import { findTicket, tenantsWithTickets } from '../../service/tickets/rows/tickets.ts'
import { connect } from '../../store/connect.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'
import { aCarrier } from '../setup/carrier.ts'
import { aStore, aTariff } from '../setup/estate.ts'
import { holding } from '../setup/lock-waits.ts'
import { aHarness, evaluationOptions, watch } from './harness.ts'

const store = await aStore()
const carrier = await aCarrier()
const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
const LOCK_TIMEOUT = '55P03'

/** The same database, with a lock timeout of 0.1 s instead of 5 s. */
const hasty = connect(store.databaseUrl, { max: 3, lockTimeoutMs: 100 })
const inHaste: Store = { ...store, clock: store.clock, db: hasty.db }
afterAll(() => hasty.close())

describe('a lock timeout', () => {
  test('leaves a ticket due, to be executed once', async () => {
    const harness = await aHarness(store)
    const [simId = 0] = await harness.unprovisioned(1)
    const id = await harness.asTenant((tx) =>
      openTicket(tx, { simId, type: TicketType.Provision, cause: { by: 'user' } }),
    )
    const letGo = await holding(store.databaseUrl, `select 1 from sims where id = ${simId} for update`)
    const carryOut = () => executeTickets(inHaste, carrier.network, OPTIONS, harness.tenantId)

    await expect(carryOut()).rejects.toMatchObject({ code: LOCK_TIMEOUT })
    const due = await inPlatform(store, (tx) => tenantsWithTickets(tx, 100))
    expect(due).toContain(harness.tenantId)
    await letGo()
    await carryOut()

    expect(await harness.asTenant((tx) => findTicket(tx, id))).toMatchObject({
      status: TicketStatus.Complete,
      attempts: 1,
    })
  })

  test('leaves subjects due, to be logged once', async () => {
    await activateRules(store, await readRuleFiles(''), 'the tests')
    const harness = await aHarness(store)
    const tariff = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
    const sims = await harness.activeSims(3, { tariffId: tariff.id })
    await harness.record(sims.map((simId) => harness.usage(simId, { bytesUp: 2000 })))
    const letGo = await holding(store.databaseUrl, 'lock table watchdog_log in exclusive mode')
    const evaluate = () => watch(inHaste, evaluationOptions(), harness.tenantId)

    await evaluate().catch((error: unknown) => expect(error).toMatchObject({ code: LOCK_TIMEOUT }))
    expect(await harness.log()).toEqual([])
    await letGo()
    // Past the lease of the claim, or the pause after a failure.
    store.now += 120_000
    await evaluate()

    const overages = (await harness.log()).filter(({ level }) => level === LogLevel.Critical)
    expect(overages.map(({ simId }) => simId).toSorted()).toEqual(sims)
    expect(await harness.rows(sql`select 1 from due_subjects where failures > 0`)).toEqual([])
  })
})
