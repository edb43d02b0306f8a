import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, PoolType, TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import type { AlertNotification } from '../../../domain/notifications/notification.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { MB } from '../../../domain/units.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant, type TenantTx } from '../../../store/tenancy.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aPool, aStore, aTariff, aTenant, someSims } from '../../setup/estate.ts'
import { askedPermits, evaluationOptions, watch } from '../harness.ts'
import { recordUsage } from '../record-usage.ts'

const store = await aStore()
const carrier = await aCarrier()
await activateRules(store, await readRuleFiles(''), 'the tests')
const options = evaluationOptions()
const TICKETS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }

/** A tenant with one pool of active SIMs. */
async function aWatchedPool(mode: WatchdogMode, tariffType: TariffType, bytes: number, simCount: number) {
  const tenantId = await aTenant(store)
  const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(store, tenantId, work)
  const tariff = await asTenant((tx) => aTariff(tx, tariffType, bytes))
  const type = tariffType === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
  const pool = await asTenant((tx) =>
    aPool(tx, tariff.id, { type, watchdogMode: mode, warningThresholdPct: 80, name: 'meters' }),
  )
  const sims = await asTenant((tx) => someSims(tx, simCount))
  for (const { id: simId } of sims) {
    await asTenant((tx) =>
      openTicket(tx, { simId, type: TicketType.Provision, poolId: pool.id, cause: { by: 'user' } }),
    )
    await asTenant((tx) => openTicket(tx, { simId, type: TicketType.Activate, cause: { by: 'user' } }))
    await executeTickets(store, carrier.network, TICKETS, tenantId)
  }
  let n = 0
  const use = async (simId: number, amount: number, also = {}) => {
    const record = { recordId: `r${n++}`, simId, at: new Date(store.now).toISOString(), bytesDown: amount, ...also }
    expect(await recordUsage(store, tenantId, [record])).toMatchObject({ accepted: 1 })
  }
  const evaluate = () => watch(store, options, tenantId)
  const rows = <T>(query: ReturnType<typeof sql<T>>) => asTenant(async (tx) => (await query.execute(tx.q)).rows)
  return {
    tenantId,
    pool,
    sims: sims.map(({ id }) => id),
    asTenant,
    rows,
    use,
    evaluate,
    log: () =>
      rows(sql<{ rule: string; level: number; simId: number | null; message: string }>`
        select rule, level, sim_id as "simId", message from watchdog_log order by id`),
    notifications: () => rows(sql<{ body: AlertNotification }>`select body from notifications order by id`),
    requests: () =>
      rows(sql<{ workflowId: string; do: string; signal: string }>`
        select workflow_id as "workflowId", request ->> 'do' as do, request ->> 'signal' as signal
          from workflow_outbox order by id`),
  }
}

describe('evaluateSubjects', () => {
  test('logs and notifies a threshold once', async () => {
    const harness = await aWatchedPool(WatchdogMode.Monitor, TariffType['Dynamic Pool'], 100 * MB, 2)
    const [simId = 0] = harness.sims

    await harness.use(simId, 159 * MB)
    await harness.evaluate()
    const below = await harness.log()
    await harness.use(simId, 1 * MB)
    await harness.evaluate()
    await harness.use(simId, 1 * MB)
    await harness.evaluate()

    const warnings = (await harness.log()).filter(({ rule }) => rule === 'pool-usage-warning')
    expect(below.filter(({ rule }) => rule === 'pool-usage-warning')).toEqual([])
    expect(warnings).toMatchObject([{ level: LogLevel.Warning, message: expect.stringContaining('80 %') }])
    const notifications = (await harness.notifications()).filter(({ body }) => body.rule.name === 'pool-usage-warning')
    expect(notifications).toMatchObject([
      { body: { kind: 'fired', subject: { kind: 'pool', label: 'meters' }, facts: { usageMB: 160, limitMB: 200 } } },
    ])
  })

  test('warns SIMs of Standard pools, not shared ones', async () => {
    for (const [type, warned] of [
      [TariffType.Standard, true],
      [TariffType['Dynamic Pool'], false],
    ] as const) {
      const harness = await aWatchedPool(WatchdogMode.Monitor, type, 100 * MB, 2)
      const [simId = 0] = harness.sims

      await harness.use(simId, 90 * MB)
      await harness.evaluate()

      const warnings = (await harness.log()).filter(({ rule }) => rule === 'sim-usage-warning')
      expect(warnings.map((entry) => entry.simId)).toEqual(warned ? [simId] : [])
    }
  })

  test('signals overLimit once in Enforce mode', async () => {
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 2)
    const [over = 0, calm = 0] = harness.sims

    await harness.use(over, 101 * MB)
    await harness.use(calm, 10 * MB)
    await harness.evaluate()
    await harness.use(over, 1 * MB)
    await harness.evaluate()

    expect(await harness.requests()).toEqual([
      {
        workflowId: `suspend-on-overage:${harness.tenantId}:${over}:2026-11`,
        do: 'signalWithStart',
        signal: 'overLimit',
      },
    ])
  })

  test('logs would-be suspensions in Monitor mode', async () => {
    const harness = await aWatchedPool(WatchdogMode.Monitor, TariffType['Dynamic Pool'], 100 * MB, 3)
    const [big = 0, bigger = 0] = harness.sims

    await harness.use(big, 150 * MB)
    await harness.use(bigger, 200 * MB)
    await harness.evaluate()

    expect(await harness.requests()).toEqual([])
    const would = (await harness.log()).filter(({ message }) => message.includes('would have been'))
    expect(would).toMatchObject([{ simId: bigger, level: LogLevel.Warning }])
    expect(would[0]?.message).toContain('50 MB over')
  })

  test('signals cleared when a correction ends the overage', async () => {
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims
    await harness.use(simId, 120 * MB)
    await harness.evaluate()

    await harness.use(simId, -50 * MB, { correction: true })
    await harness.evaluate()

    expect((await harness.requests()).map(({ do: how, signal }) => [how, signal])).toEqual([
      ['signalWithStart', 'overLimit'],
      ['signal', 'cleared'],
    ])
  })

  test('ends permits in Monitor mode when the alert clears', async () => {
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims
    const ask = { rule: 'sim-overage', cycle: '2026-11', simIds: [simId], workflowId: 'w' }
    const permits = () => harness.asTenant((tx) => askedPermits(tx, ask))
    const tick = async (mode: WatchdogMode, bytes: number) => {
      store.now += 60_000
      const poolId = harness.pool.id
      await harness.asTenant((tx) => sql`update pools set watchdog_mode = ${mode} where id = ${poolId}`.execute(tx.q))
      await harness.use(simId, bytes, { correction: true })
      await harness.evaluate()
    }
    await harness.asTenant((tx) => changeEnforcement(tx, { guardLeast: 1, guardPct: 0 }))
    await tick(WatchdogMode.Enforce, 120 * MB)
    const first = await permits()
    await tick(WatchdogMode.Monitor, 1)
    await tick(WatchdogMode.Monitor, 1)
    const asked = await harness.rows(sql`select asked from alerts where rule = 'sim-overage' and subject_id = ${simId}`)
    const whileItFires = await permits()
    await tick(WatchdogMode.Monitor, -50 * MB)
    await tick(WatchdogMode.Enforce, 50 * MB)

    expect(asked).toEqual([{ asked: 'would' }])
    expect([first, whileItFires]).toMatchObject([{ granted: [simId] }, { granted: [simId] }])
    expect(await permits()).toMatchObject({ granted: [], held: [simId] })
  })

  test('signals the new cycle’s run across the boundary', async () => {
    const files = await readRuleFiles('')
    const tagged = {
      name: 'sim-tagged',
      description: 'The SIM was lost.',
      subject: 'sim',
      conditions: { all: [{ fact: 'tag', operator: 'equal', value: 'lost' }] },
      event: {
        type: 'tagged',
        params: {
          level: 'Critical',
          message: 'SIM {{iccid}} is lost.',
          actions: ['log', 'suspend'],
          suspend: { target: 'self', grace: 'PT0S', until: 'renewal' },
          for: 'PT0S',
          once: 'episode',
          stage: 'enforce',
        },
      },
      examples: [
        { fires: true, facts: { tag: 'lost' } },
        { fires: false, facts: { tag: '' } },
      ],
    }
    await activateRules(store, [...files, { file: 'sim/sim-tagged.json', text: JSON.stringify(tagged) }], 'the tests')
    const before = store.now
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims
    const tick = async (now: number) => {
      store.now = now
      await harness.use(simId, 1)
      await harness.evaluate()
    }
    await harness.asTenant((tx) => sql`update sims set tag = 'lost' where id = ${simId}`.execute(tx.q))
    await tick(before + 60_000)
    const boundary = Date.parse('2026-12-01T00:00:00Z')
    await tick(boundary)
    await tick(boundary + 60_000)
    await activateRules(store, files, 'the tests')
    store.now = before + 120_000

    expect(await harness.requests()).toEqual(
      ['2026-11', '2026-12'].map((key) => ({
        workflowId: suspendOnOverageId(harness.tenantId, simId, key),
        do: 'signalWithStart',
        signal: 'overLimit',
      })),
    )
  })

  test('signals again when a suspended SIM comes back', async () => {
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims
    const tick = async (type?: TicketType) => {
      store.now += 60_000
      if (type !== undefined) {
        const cause = { by: 'month-end', cycle: '2026-10' } as const
        await harness.asTenant((tx) => openTicket(tx, { simId, type, cause }))
        await executeTickets(store, carrier.network, TICKETS, harness.tenantId)
      }
      await harness.use(simId, 120 * MB)
      await harness.evaluate()
      return (await harness.requests()).map((request) => `${request.do} ${request.signal}`)
    }
    await tick(TicketType.Suspend)
    const stopped = await tick()
    const back = await tick(TicketType.Activate)

    expect(stopped).toEqual(['signalWithStart overLimit'])
    expect(back).toEqual(['signalWithStart overLimit', 'signal overLimit'])
    expect(await tick()).toEqual(back)
  })

  test('ignores an exempt SIM', async () => {
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims
    await harness.asTenant((tx) => sql`update sims set is_watchdog_exempt = true where id = ${simId}`.execute(tx.q))

    await harness.use(simId, 120 * MB)
    await harness.evaluate()

    expect((await harness.log()).filter((entry) => entry.simId === simId)).toEqual([])
    expect(await harness.requests()).toEqual([])
  })

  test('logs each change of device once', async () => {
    const harness = await aWatchedPool(WatchdogMode.Monitor, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims
    const tick = async (imei: string) => {
      store.now += 60_000
      await harness.use(simId, 1000, { imei })
      await harness.evaluate()
    }

    await tick('356938035643809')
    await tick('356938035643809')
    await tick('490154203237518')
    await tick('490154203237518')

    const changes = (await harness.log()).filter(({ rule }) => rule === 'sim-imei-change')
    expect(changes).toMatchObject([{ simId, message: expect.stringContaining('490154203237518') }])
  })

  test('logs and signals nothing in stage shadow', async () => {
    const files = await readRuleFiles('')
    const unseen = files.map(({ file, text }) => ({
      file,
      text: text.replaceAll('"stage": "enforce"', '"stage": "shadow"'),
    }))
    await activateRules(store, unseen, 'the tests')
    const harness = await aWatchedPool(WatchdogMode.Enforce, TariffType.Standard, 100 * MB, 1)
    const [simId = 0] = harness.sims

    await harness.use(simId, 120 * MB)
    await harness.evaluate()
    await activateRules(store, files, 'the tests')

    expect((await harness.log()).filter(({ rule }) => rule === 'sim-overage')).toEqual([])
    expect(await harness.requests()).toEqual([])
  })
})
