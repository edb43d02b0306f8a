/** What the operator of the installation is mailed, over a real mail server. Each test has a database of its own. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { renderOperatorMail } from '../../../adapters/channels/mail/render-operator-mail.ts'
import { createTransport, type Transport } from '../../../adapters/channels/mail/transport.ts'
import { forgetOperatorNotices } from '../../../service/channels/rows/operator-mails.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { type OperatorMailOptions, tellOperator } from '../../../service/channels/tell-operator.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { insertOperatorNotices } from '../../../store/operator-notices.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore, type TestStore } from '../../setup/estate.ts'
import { soon } from '../../setup/soon.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import { aHarness, evaluationOptions, operatorNotices, watch } from '../harness.ts'
import { asShipped, aWorld, inStage, OVERAGE, only } from '../watchdog/alert-world.ts'
import { missFact } from '../watchdog/missing-fact.ts'
import { aMailbox } from './post.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const RETRIES = { retryMaxMs: 6 * HOUR, giveUpAfterMs: 72 * HOUR }
const OPERATOR = 'noc@example.com'

/** The operator's mailbox, and what mails them. */
async function anOperator(given?: TestStore, inboxOptions: Parameters<typeof aMailbox>[0] = {}) {
  const store = given ?? (await aStore())
  const { transport, arrived } = await aMailbox(inboxOptions)
  return {
    store,
    transport,
    arrived,
    tell: (options: Partial<OperatorMailOptions> = {}, by: Pick<Transport, 'send'> = transport) =>
      tellOperator(
        store,
        { ...mailChannel(by), render: renderOperatorMail },
        { ...RETRIES, recipient: OPERATOR, ...options },
      ),
    refuses: (build: string) => {
      const body = { kind: 'rulesRefused' as const, version: 1, build, reason: 'a fault', instead: 'nothing' }
      return inPlatform(store, (tx) => insertOperatorNotices(tx, [{ key: `rules-refused/1/${build}`, body }]))
    },
    mails: async () => {
      const { rows } = await sql<{ id: string; status: string; attempts: number; nextAt: Date }>`
        select id, status, attempts, next_attempt_at as "nextAt" from operator_mails order by created_at`.execute(
        store.db,
      )
      return rows
    },
  }
}

describe('mails to the operator', () => {
  test('leave at once, and the next ones together a quarter of an hour later', async () => {
    const { store, ...operator } = await anOperator()
    const tell = async (afterMs: number) => {
      store.now += afterMs
      await operator.tell()
      return (await operator.arrived()).map(({ subject }) => subject)
    }

    await operator.refuses('first')
    const atOnce = await tell(0)
    await operator.refuses('second')
    await operator.refuses('third')
    const soon = await tell(14 * MINUTE)
    const later = await tell(1 * MINUTE)

    expect(atOnce).toEqual(['[Simherd] Rules version 1 refused by build first'])
    expect(soon).toEqual(atOnce)
    expect(later).toEqual([...atOnce, '[Simherd] Rules version 1 refused by build second, and 1 other notice'])
    expect(await tell(24 * HOUR)).toEqual(later)
  })

  test('tell each notice once, however many processes tell', async () => {
    const { store, ...operator } = await anOperator()
    await Promise.all(Array.from({ length: 4 }, () => operator.refuses('one')))

    await Promise.all(Array.from({ length: 4 }, () => operator.tell()))
    store.now += HOUR
    await Promise.all(Array.from({ length: 4 }, () => operator.tell()))

    expect(await operator.arrived()).toHaveLength(1)
    expect(await operatorNotices(store)).toMatchObject([{ count: 4, mailId: expect.any(String) }])
  })

  test('are sent again under their Message-ID by another process if one dies while it sends', async () => {
    const { store, ...operator } = await anOperator()
    await operator.refuses('one')
    // The server has the mail, and the process hears nothing more.
    const send: Transport['send'] = async (mail) => {
      await operator.transport.send(mail)
      return new Promise<never>(() => undefined)
    }
    void operator.tell({}, { send })
    await soon(async () => expect(await operator.arrived()).toHaveLength(1))

    await operator.tell()
    const underLease = await operator.arrived()
    store.now += 5 * MINUTE
    await operator.tell()

    expect(underLease).toHaveLength(1)
    const [first, second] = (await operator.arrived()).map(({ headers }) => headers['message-id'])
    expect(second).toBe(first)
    expect(await operator.mails()).toMatchObject([{ status: 'sent', attempts: 2 }])
  })

  test('wait while the server lets us send nothing, and later notices wait with them', async () => {
    const { store, ...operator } = await anOperator()
    await operator.refuses('first')
    const refuses = createTransport({ smtpUrl: 'smtp://127.0.0.1:1', from: 'x@example.com', timeoutMs: 30_000 })

    for (let hours = 0; hours < 80; hours += 4) {
      await operator.tell({}, refuses)
      store.now += 4 * HOUR
    }
    await operator.refuses('second')
    await operator.tell({}, refuses)
    const composed = await operator.mails()
    store.now += HOUR
    await operator.tell()
    const first = await operator.arrived()
    await operator.tell()
    refuses.close()

    expect(composed).toMatchObject([{ status: 'pending' }])
    expect(first).toHaveLength(1)
    expect(await operator.arrived()).toHaveLength(2)
  })

  test('go to the address of now, and are given up with a word where it is refused', async () => {
    const refuse = (address: string) => (address === 'gone@example.com' ? 550 : undefined)
    const { store, ...operator } = await anOperator(undefined, { refuse })
    const givenUp: string[] = []
    const onGivenUp = ({ response }: { response: string }) => givenUp.push(response)
    const tell = (recipient: string) => operator.tell({ recipient, onGivenUp })
    await operator.refuses('first')
    await tell('gone@example.com')
    store.now += HOUR
    await tell('gone@example.com')
    await operator.refuses('second')
    await tell('gone@example.com')
    store.now += HOUR
    await tell(OPERATOR)

    expect(givenUp).toEqual([expect.stringContaining('550')])
    expect((await operator.arrived()).map(({ subject }) => subject)).toEqual([
      '[Simherd] Rules version 1 refused by build second',
    ])
  })

  test('leave out what is older than three days, and what is old is deleted', async () => {
    const { store, ...operator } = await anOperator()
    await operator.refuses('old')
    store.now += 73 * HOUR
    await operator.refuses('new')

    await operator.tell()
    const told = await operator.arrived()
    await inPlatform(store, (tx) => forgetOperatorNotices(tx, new Date(store.now - HOUR)))
    const kept = await operatorNotices(store)
    await inPlatform(store, (tx) => forgetOperatorNotices(tx, new Date(store.now + 1)))

    expect(told.map(({ subject }) => subject)).toEqual(['[Simherd] Rules version 1 refused by build new'])
    expect(kept).toMatchObject([{ body: { build: 'new' } }])
    expect([await operatorNotices(store), await operator.mails()]).toEqual([[], []])
  })
})

describe('the operator hears', () => {
  test('who put which rules in force, and tenants do not', async () => {
    const { store, ...operator } = await anOperator()
    const { rows, tenantId } = await aHarness(store)
    const caller = { actor: 'key:k1', keyId: 'k1', requestId: 'r1', action: 'putRules', workflowId: null }
    const load = (files: Parameters<typeof activateRules>[1]) =>
      activateRules({ ...store, caller }, files, 'Ann Example <ann@example.com>')
    await activateRules(store, only({ 'sim-overage': asShipped, 'sim-silent': asShipped }), 'a worker')
    await operator.tell()

    await load(only({ 'sim-overage': inStage('log'), 'pool-overage': asShipped }))
    await load(only({ 'sim-overage': inStage('log'), 'pool-overage': asShipped }))
    store.now += HOUR
    await operator.tell()

    const mails = await operator.arrived()
    expect(mails).toHaveLength(2)
    expect(mails[1]?.subject).toMatch(/^\[Simherd\] Rules version \d+ in force$/)
    for (const said of [
      'Loaded by Ann Example <ann@example.com> (key:k1).',
      'New: pool-overage.',
      'Changed: sim-overage.',
      'Gone: sim-silent.',
    ])
      expect(mails[1]?.text).toContain(said)
    await watch(store, evaluationOptions(), tenantId)
    const events = JSON.stringify(await rows(sql`select title, description from events`))
    expect(events).toContain('pool-overage is new')
    expect(events).not.toMatch(/Ann|key:k1|\.json/)
    expect(await rows(sql`select 1 from operator_notices`)).toEqual([])
  })

  test('of a rule that cannot be decided, once an hour with the number of subjects', async () => {
    const world = await aWorld({ rules: OVERAGE, sims: 3 })
    const operator = await anOperator(world.store)
    const broken = new Set(['sim-overage'])
    missFact(world.options, broken)
    const undecidable = async () =>
      (await operatorNotices(world.store)).filter(({ body }) => body.kind === 'ruleUndecidable')
    for (const sim of world.sims) await world.use(sim, 1)
    for (const sim of world.sims) await world.use(sim, 1)

    const [notice, ...others] = await undecidable()
    world.store.now += MINUTE
    await operator.tell()
    broken.clear()
    await world.use(world.sim, 1)
    broken.add('sim-overage')
    world.store.now += HOUR
    await world.use(world.sim, 1)

    expect(notice).toMatchObject({ tenant: world.tenantId, count: 3, body: { rule: 'sim-overage' } })
    expect(others).toEqual([])
    const [mail] = await operator.arrived()
    expect(mail?.subject).toContain('Rule sim-overage cannot be decided')
    expect(mail?.text).toMatch(/Meadow \(t\w+\), version \d+: 3 subjects so far[^]*One example: .*noSuchFact/)
    expect(await undecidable()).toMatchObject([{ count: 3 }, { count: 1 }])
    expect(await world.rows(sql`select 1 from events where title ilike '%decide%'`)).toEqual([])
  })

  test.each([
    ['a mail that was given up', 554, 'Mail given up: ', 1],
    ['an address that is refused', 550, 'Address refused: billing@meadow.example', 2],
  ])('of %s', async (_what, code, title, attempts) => {
    const { store, ...operator } = await anOperator()
    const harness = await aHarness(store)
    const refusing = await aMailbox({ refuse: () => code })
    const alerts = ['one', 'two'].map((key) => ({ body: anAlert({ key, message: key }), dueAt: new Date(store.now) }))
    for (const alert of alerts) {
      await harness.asTenant((tx) => insertNotifications(tx, [alert]))
      await sendMails(store, mailChannel(refusing.transport), RETRIES, harness.tenantId)
    }
    store.now += HOUR
    await sendMails(store, mailChannel(refusing.transport), RETRIES, harness.tenantId)
    await operator.tell()

    const mails = await harness.rows(sql<{ status: string; attempts: number }>`select status, attempts from deliveries`)
    expect(mails).toEqual(Array(2).fill({ status: 'failed', attempts }))
    const [mail] = await operator.arrived()
    expect(mail?.subject).toContain(title)
    expect(mail?.text).toContain(`Meadow (${harness.tenantId})`)
    expect(mail?.text).toContain('billing@meadow.example')
    expect(mail?.text).toContain(String(code))
    if (code === 550) expect(mail?.text).toContain('2 mails given up')
    else expect(mail?.subject).toContain('and 1 other notice')
  })
})
