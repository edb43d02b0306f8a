import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type CarrierOptions, startCarrier } from '../../stack/carrier/carrier.ts'
import { freePort } from '../../stack/free-port.ts'
import { supervise } from '../../stack/supervise.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { soon } from '../setup/soon.ts'

const ICCID = '8944500102198304826'

const clientOf = (url: string, secret = 'secret') => {
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secret}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }
  return {
    call,
    operate: (ticketId: string, operation: string, more: object = {}) =>
      call('POST', '/operations', { ticketId, operation, iccid: ICCID, ...more }),
  }
}

async function aCarrier(options: Partial<CarrierOptions> = {}) {
  const file = options.file ?? join(await temporaryFolder(), 'carrier.jsonl')
  const carrier = await startCarrier({ secret: 'secret', ...options, file })
  onTestFinished(() => carrier.stop())
  return { ...carrier, file, ...clientOf(carrier.url) }
}

describe('the simulated carrier', () => {
  test('does an operation once for a repeated ticket', async () => {
    const { operate, call } = await aCarrier()

    const responses = await Promise.all([1, 2, 3].map(() => operate('t1', 'provision', { pool: '7' })))

    for (const response of responses)
      expect(response).toEqual({ status: 200, body: { ticketId: 't1', effect: 'done' } })
    expect((await call('GET', '/stats')).body).toMatchObject({
      calls: 3,
      effects: 1,
      duplicates: 2,
      doubleEffects: 0,
      byOperation: { provision: 1, activate: 0 },
    })
  })

  test('lists the effects on a line in order', async () => {
    const { operate, call } = await aCarrier()
    for (const [ticket, operation] of Object.entries({ a: 'provision', b: 'activate', c: 'suspend' })) {
      await operate(ticket, operation)
    }

    const { body }: { body: any } = await call('GET', `/operations?iccid=${ICCID}`)

    expect(body.map((effect: { operation: string }) => effect.operation)).toEqual(['provision', 'activate', 'suspend'])
  })

  test('answers `already` when the line needs no change', async () => {
    const { operate, call } = await aCarrier()
    await operate('a', 'provision')
    await operate('b', 'activate')

    expect(await operate('c', 'activate')).toEqual({ status: 200, body: { ticketId: 'c', effect: 'already' } })
    expect((await call('GET', '/stats')).body).toMatchObject({ effects: 2, already: 1 })
  })

  test.each(['suspend', 'activate', 'move', 'refresh', 'sendSms'])(
    'takes a line for one that lived before, if %s is the first that it hears of it',
    async (operation) => {
      const { operate } = await aCarrier()

      expect(await operate('a', operation)).toEqual({ status: 200, body: { ticketId: 'a', effect: 'done' } })
    },
  )

  test('knows a line that lived before from then on', async () => {
    const { operate } = await aCarrier()
    await operate('a', 'suspend')

    expect((await operate('b', 'suspend')).body).toMatchObject({ effect: 'already' })
    expect((await operate('c', 'activate')).body).toMatchObject({ effect: 'done' })
  })

  test.each([
    ['a line that is gone', 'activate', 'line_unknown'],
    ['a message to a line that is not active', 'sendSms', 'line_not_active'],
  ])('refuses %s until it is possible', async (_name, operation, code) => {
    const { operate } = await aCarrier()
    await operate('a', 'provision')
    if (code === 'line_unknown') await operate('gone', 'unprovision')

    expect(await operate('x', operation)).toMatchObject({ status: 409, body: { code } })

    await operate('b', 'provision')
    if (operation === 'sendSms') await operate('c', 'activate')
    expect(await operate('x', operation)).toMatchObject({ status: 200, body: { effect: 'done' } })
  })

  test('refuses a ticket used for another operation', async () => {
    const { operate } = await aCarrier()
    await operate('a', 'provision')

    expect(await operate('a', 'activate')).toMatchObject({ status: 409, body: { code: 'ticket_reused' } })
  })

  test('refuses a wrong secret', async () => {
    const { url } = await aCarrier()

    expect(await clientOf(url, 'wrong').call('GET', '/stats')).toMatchObject({ status: 401 })
  })

  test('fails without an effect at its failure rate', async () => {
    const { operate, call } = await aCarrier()
    await call('PUT', '/knobs', { failureRate: 1 })

    expect(await operate('a', 'provision')).toMatchObject({ status: 503 })
    expect((await call('GET', '/stats')).body).toMatchObject({ effects: 0, failed: 1 })

    await call('PUT', '/knobs', { failureRate: 0 })
    expect(await operate('a', 'provision')).toMatchObject({ status: 200, body: { effect: 'done' } })
  })

  test('acts once though its response is lost', async () => {
    const { operate, call } = await aCarrier({ knobs: { actsThenTimesOutRate: 1, lateMs: 60_000 } })
    const tickets = ['a', 'b', 'c', 'd', 'e', 'f']
    const answered: string[] = []
    const send = (ticket: string) =>
      operate(ticket, 'provision').then(
        () => answered.push(ticket),
        () => undefined,
      )

    for (const ticket of tickets) void send(ticket)
    await soon(async () => expect((await call('GET', '/stats')).body).toMatchObject({ calls: 6 }))

    for (const ticketId of tickets) {
      expect(await operate(ticketId, 'provision')).toMatchObject({ status: 200, body: { ticketId } })
    }
    expect(answered).toEqual([])
    expect((await call('GET', '/stats')).body).toMatchObject({ doubleEffects: 0, duplicates: 6 })
  })

  test('refuses a knob out of range', async () => {
    const { call } = await aCarrier()

    expect(await call('PUT', '/knobs', { failureRate: 2 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('/failureRate') },
    })
  })

  test.each([
    ['in Latin-1', Buffer.from('{"failureRate":0, "ü":1}', 'latin1'), 400, /^the body is not UTF-8, line 1/],
    ['with a name that stands twice', '{"failureRate":0,"failureRate":1}', 400, /^\/failureRate stands twice/],
    ['that is no JSON', '{', 400, /^the body is no JSON: /],
    ['with a byte order mark', '\uFEFF{"failureRate":0}', 200, /^$/],
  ])('answers a body %s', async (_, body, status, detail) => {
    const { url } = await aCarrier()

    const answer = await fetch(`${url}/knobs`, { method: 'PUT', headers: { authorization: 'Bearer secret' }, body })

    const { detail: words = '' } = (await answer.json()) as { detail?: string }
    expect([answer.status, words]).toEqual([status, expect.stringMatching(detail)])
  })

  test('remembers every answered effect after a SIGKILL', async () => {
    const file = join(await temporaryFolder(), 'carrier.jsonl')
    const port = await freePort()
    const { call, operate } = clientOf(`http://127.0.0.1:${port}`)
    const process_ = await supervise({
      name: 'carrier',
      args: ['stack/carrier/main.ts'],
      env: { ...process.env, CARRIER_FILE: file, CARRIER_SECRET: 'secret', CARRIER_PORT: String(port) },
      onLine: () => undefined,
      ready: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
    })
    onTestFinished(() => process_.stop())
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => operate(`t${n}`, 'provision', { iccid: String(10n ** 18n + BigInt(n)) })),
    )

    const killed = process_.pid()
    process.kill(killed ?? 0, 'SIGKILL')
    await soon(async () => expect(await call('GET', '/stats')).toMatchObject({ status: 200, body: { effects: 50 } }))

    expect(process_.pid()).not.toBe(killed)
    expect(await operate('t7', 'provision', { iccid: String(10n ** 18n + 7n) })).toMatchObject({ status: 200 })
    expect((await call('GET', '/stats')).body).toMatchObject({ effects: 50, duplicates: 1, doubleEffects: 0 })
  })

  test('drops only an entry that a crash cut short', async () => {
    const before = await aCarrier()
    await before.operate('a', 'provision')
    await before.stop()
    await appendFile(before.file, '{"at":"2026-11-20T12:00')

    const after = await aCarrier({ file: before.file })
    await after.operate('b', 'activate')
    await after.stop()
    const last = await aCarrier({ file: before.file })

    expect((await last.call('GET', '/stats')).body).toMatchObject({ effects: 2 })
  })
})
