/** Which facts webhooks are told, and when. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { endSilence } from '../../../service/alerts/silence-alerts.ts'
import { addWebhook } from '../../../service/channels/change-webhooks.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import { askedPermits } from '../harness.ts'
import { aWorld, climbing, inStage, OVERAGE, only, WARNING, type WorldOptions } from '../watchdog/alert-world.ts'
import { aMailbox } from './post.ts'

/** A world whose tenant has a webhook for everything. */
async function aWatchedWorld(options: Partial<WorldOptions> = {}) {
  const world = await aWorld({ rules: WARNING, ...options })
  await world.asTenant((tx) => addWebhook(tx, { url: 'https://ops.meadow.example' }, { secretsKeys: [], allow: [] }))
  return {
    ...world,
    told: async () => {
      const rows = await world.rows(sql<{ body: string }>`
        select e.body from webhook_events e join deliveries d on d.event_id = e.id order by d.id`)
      return rows.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> })
    },
  }
}
const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)

describe('webhooks are told of an alert', () => {
  test('that climbs a ladder, and of its end though its last step is silenced', async () => {
    const rules = only({ 'sim-usage-warning': climbing })
    const { use, sim, silence, told } = await aWatchedWorld({ rules })
    await silence({ level: LogLevel.Critical }, 'cycle')

    for (const mb of [55, 30, 20, -90]) await use(sim, mb)

    const said = (await told()).map(({ type, data }) => [type, data.level, String(data.message).split(' has ').at(-1)])
    expect(said).toEqual([
      ['alert.fired', LogLevel.Info, expect.stringMatching(/^passed 50 %/)],
      ['alert.fired', LogLevel.Warning, expect.stringMatching(/^passed 80 %/)],
      ['alert.resolved', LogLevel.Info, expect.any(String)],
    ])
  })

  test('that fires, resolves and fires again', async () => {
    const { use, sim, poolId, told } = await aWatchedWorld()

    await use(sim, 85)
    await use(sim, 1)
    await use(sim, -20)
    await use(sim, 30)

    const events = await told()
    expect(typesOf(events)).toEqual(['alert.fired', 'alert.resolved', 'alert.fired'])
    expect(events[0]?.data).toEqual({
      rule: 'sim-usage-warning',
      level: LogLevel.Warning,
      subject: { kind: 'sim', id: sim, label: expect.any(String), iccid: expect.any(String), tag: '' },
      poolId,
      cycle: '2026-11',
      since: '2026-11-10T12:01:00.000Z',
      times: 1,
      message: expect.stringContaining('85'),
    })
    expect(events[1]?.data).toMatchObject({
      reason: 'cleared',
      level: LogLevel.Info,
      since: '2026-11-10T12:03:00.000Z',
    })
    expect(events[2]?.data).toMatchObject({ times: 2 })
  })

  test('whose end the mail is told too', async () => {
    const { use, sim, told, mailAll } = await aWatchedWorld()

    await use(sim, 85)
    await mailAll()
    await use(sim, -20)

    expect(typesOf(await told())).toEqual(['alert.fired', 'alert.resolved'])
  })

  test('not while its rule is in a stage that mails nothing, and once it does', async () => {
    const rules = only({ 'sim-usage-warning': inStage('log') })
    const { use, sim, told, put, evaluate } = await aWatchedWorld({ rules })

    await use(sim, 85)
    const before = await told()
    await put(WARNING)
    await evaluate()

    expect([before, typesOf(await told())]).toEqual([[], ['alert.fired']])
  })

  test('not while it is silenced, and if it fires after', async () => {
    const { use, sim, told, silence, asTenant, evaluate } = await aWatchedWorld()
    const { id } = await silence({ simId: sim })

    await use(sim, 85)
    const during = await told()
    await asTenant((tx) => endSilence(tx, id))
    await evaluate()

    expect([during, typesOf(await told())]).toEqual([[], ['alert.fired']])
  })

  test('not when one ends or is withdrawn of which they were not told', async () => {
    const rules = only({ 'sim-usage-warning': inStage('log'), 'sim-burn-rate': inStage('off') })
    const { use, sim, told, put, evaluate, logged } = await aWatchedWorld({ rules })

    await use(sim, 85)
    await use(sim, -20)
    await use(sim, 20)
    await put(OVERAGE)
    await evaluate()

    expect((await logged()).map((key) => key.split('/').at(-1))).toContain('withdrawn')
    expect(await told()).toEqual([])
  })

  test('that is withdrawn, if they were told that it fires', async () => {
    const { use, sim, told, put, evaluate } = await aWatchedWorld()

    await use(sim, 85)
    await put(OVERAGE)
    await evaluate()

    const events = await told()
    expect(typesOf(events)).toEqual(['alert.fired', 'alert.resolved'])
    expect(events[1]?.data).toMatchObject({
      reason: 'withdrawn',
      message: expect.stringContaining('the rule was removed'),
    })
  })
})

describe('webhooks are told', () => {
  test('once that a SIM is suspended and brought back', async () => {
    const { sim, poolId, told, asTenant } = await aWatchedWorld()
    const ask = { simId: sim, cycle: '2026-11', rule: 'sim-overage', counter: 0, workflowId: 'w', detail: 'over' }

    for (const action of ['graceStarted', 'suspended', 'suspended', 'broughtBack'] as const) {
      await asTenant((tx) => logAction(tx, { ...ask, action }))
    }

    const events = await told()
    expect(typesOf(events)).toEqual(['sim.suspended', 'sim.brought_back'])
    expect(events[0]?.data).toEqual({
      simId: sim,
      label: expect.any(String),
      iccid: expect.any(String),
      tag: '',
      poolId,
      rule: 'sim-overage',
      cycle: '2026-11',
      message: expect.stringContaining('was suspended over'),
    })
  })

  test('that the guard holds suspensions', async () => {
    const { sims, told, asTenant } = await aWatchedWorld({ sims: 3 })
    await asTenant((tx) => changeEnforcement(tx, { guardLeast: 1, guardPct: 0 }))

    const ask = { rule: 'sim-overage', cycle: '2026-11', simIds: sims, workflowId: 'w' }
    const { holdId } = await asTenant((tx) => askedPermits(tx, ask))

    expect(await told()).toMatchObject([
      { type: 'guard.held', data: { holdId, rule: 'sim-overage', poolId: null, cycle: '2026-11', waiting: 2 } },
    ])
  })

  test('once that a cycle is closed', async () => {
    const { use, sim, told, asTenant, store } = await aWatchedWorld()
    await use(sim, 10)
    store.now = Date.parse('2026-12-01T06:00:00Z')

    for (let n = 0; n < 2; n += 1) await asTenant((tx) => closeCycle(tx, '2026-11'))

    expect(await told()).toMatchObject([
      {
        type: 'cycle.closed',
        data: {
          cycle: '2026-11',
          startsAt: '2026-11-01T00:00:00.000Z',
          endsAt: '2026-12-01T00:00:00.000Z',
          statementLines: expect.any(Number),
          chargesMicro: expect.any(Number),
        },
      },
    ])
  })

  test('that a mail is given up', async () => {
    const { told, asTenant, tenantId, store } = await aWatchedWorld()
    const { transport } = await aMailbox({ refuse: () => 554 })
    await asTenant((tx) => insertNotifications(tx, [{ body: anAlert({ key: 'k' }), dueAt: tx.now }]))

    await sendMails(store, mailChannel(transport), { retryMaxMs: 1000, giveUpAfterMs: 1000 }, tenantId)

    expect(await told()).toMatchObject([
      { type: 'mail.failed', data: { recipient: 'billing@meadow.example', why: expect.stringContaining('554') } },
    ])
  })
})
