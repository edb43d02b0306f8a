/** The expected outcome of the main job, read through the interfaces and the inbox. */
import { expect } from 'vitest'
import type { Service } from '../setup/service.ts'
import { soon } from '../setup/soon.ts'
import type { Player } from './main-job.ts'

interface Entry {
  readonly simId: number | null
  readonly poolId: number | null
  readonly level: number
  readonly message: string
  readonly date: string
}

/** The mail of a suspension leaves within this time, on a slow machine too. */
const MAILED_WITHIN_MS = 60_000

/** All expected log entries: the log must have no others. */
function expected({ sims, pools }: Player) {
  const sim = (name: string) => sims.get(name) ?? null
  const of = (...[simId, poolId, level, message]: [number | null, number | null, number, RegExp]) => {
    return { simId, poolId, level, message }
  }
  return [
    of(sim('standard-0'), pools.standard, 2, /over its limit: /),
    of(sim('standard-0'), pools.standard, 1, /% of its limit/),
    of(sim('standard-1'), pools.standard, 1, /% of its limit/),
    of(null, pools.dynamic, 2, /over its capacity/),
    of(null, pools.dynamic, 1, /of 400 MB used.*Warning threshold/),
    of(null, pools.fixed, 2, /over its capacity/),
    of(null, pools.fixed, 1, /of 300 MB used.*Warning threshold/),
    of(sim('fixed-0'), pools.fixed, 1, /would have been suspended/),
    of(sim('standard-0'), pools.standard, 2, /was suspended/),
    of(sim('dynamic-0'), pools.dynamic, 2, /was suspended/),
    of(sim('standard-0'), pools.standard, 0, /is active again/),
    of(sim('dynamic-0'), pools.dynamic, 0, /is active again/),
  ]
}

/** Waits until the outcome is as expected: the last mail is sent a moment after it was made. */
export const expectOutcome = (service: Service, player: Player, cycleKey: string): Promise<void> =>
  soon(() => lookAtOutcome(service, player, cycleKey))

async function lookAtOutcome(service: Service, player: Player, cycleKey: string): Promise<void> {
  const { tenantId } = player
  const log: { data: Entry[] } = await service.tenantCall('GET', '/api/watchdog/logs', tenantId)
  const missing = expected(player).filter(
    (want) =>
      log.data.filter(
        (entry) =>
          entry.simId === want.simId &&
          entry.poolId === want.poolId &&
          entry.level === want.level &&
          want.message.test(entry.message),
      ).length !== 1,
  )
  const readable = log.data
    .map(({ simId, poolId, level, message }) => `${simId}/${poolId} ${level} ${message}`)
    .join('\n')
  expect(missing, `the log:\n${readable}`).toEqual([])
  expect(log.data.length, `the log:\n${readable}`).toBe(expected(player).length)

  const list = await service.call('GET', '/internal/mails', tenantId)
  const mails: { id: string; status: string; keys: string[] }[] = list.data
  const keys = mails.flatMap((mail) => mail.keys)
  expect(new Set(keys).size, 'each (alert key, kind) in exactly one mail').toBe(keys.length)
  expect(mails.every(({ status }) => status === 'sent')).toBe(true)
  expect(keys.filter((key) => key.startsWith('summary/'))).toEqual([`summary/${cycleKey}`])
  // Three overages, one warning (the others say less than an overage) and the summary.
  const ofSuspensions = keys.filter((key) => /\/(suspended|broughtBack)\//.test(key))
  expect(keys.length - ofSuspensions.length, keys.join('\n')).toBe(5)
  // That two SIMs were suspended and brought back; neither of one that came back before the first mail had left.
  for (const name of ['standard-0', 'dynamic-0']) {
    const simId = player.sims.get(name)
    const [from = Number.NaN, to = Number.NaN] = ['was suspended', 'is active again'].map((words) =>
      Date.parse(log.data.find((entry) => entry.simId === simId && entry.message.includes(words))?.date ?? ''),
    )
    const mailed = ofSuspensions.filter((key) => key.includes(`/sim/${simId}/`)).length
    expect(to - from < MAILED_WITHIN_MS ? [0, 2] : [2], `${name}: ${to - from} ms; ${keys.join(' ')}`).toContain(mailed)
  }

  const received = (await service.mails()).filter(({ to }) => to.includes('billing@meadow.example'))
  const messageIds = new Set(received.map(({ headers }) => headers['message-id']))
  expect(messageIds).toEqual(new Set(mails.map(({ id }) => id)))

  const tickets: { status: number }[] = await service.tenantCall('GET', '/api/tickets', tenantId)
  expect(tickets.map(({ status }) => status)).toEqual(tickets.map(() => 2))
  // 12 SIMs provisioned and activated, two suspended and brought back, one moved, one unassigned.
  const carrier = await service.carrierStats()
  expect(carrier.doubleEffects).toBe(0)
  expect(carrier.byOperation).toMatchObject({
    provision: 12,
    activate: 14,
    suspend: 2,
    move: 1,
    unprovision: 1,
    refresh: 0,
    sendSms: 0,
  })
  expect(tickets).toHaveLength(12 + 14 + 2 + 1 + 1)

  const sims: { tag: string; status: number; poolId: number | null }[] = (
    await service.tenantCall('GET', '/api/sims', tenantId)
  ).data
  expect(Object.fromEntries(sims.map(({ tag, status, poolId }) => [tag, [status, poolId]]))).toMatchObject({
    'standard-0': [1, player.pools.standard],
    'dynamic-0': [1, player.pools.dynamic],
    'dynamic-3': [1, player.pools.standard],
    'fixed-0': [1, player.pools.fixed],
    'fixed-3': [0, null],
  })
}
