/** A worker stopped with work in hand, by SIGTERM, as a deployment and `docker stop` do. */
import { afterAll, expect, test } from 'vitest'
import type { Knobs } from '../../stack/carrier/knobs.ts'
import { ownServers } from '../setup/own-servers.ts'
import { startService } from '../setup/service.ts'
import { soon, until } from '../setup/soon.ts'

const SIMS = 40
/** Slow enough that work is in hand at the SIGTERM, and well within the worker's time to stop. */
const SLOW: Partial<Knobs> = { latencyMs: [1500, 2500], failureRate: 0, actsThenTimesOutRate: 0 }

const servers = await ownServers()
// With this lease a ticket that the worker abandoned would be retried within the test.
const service = await startService({ LOG_LEVEL: 'info', TICKET_LEASE: 'PT20S' }, servers)
afterAll(service.stop)

test('finishes work in hand and leaves the rest', async () => {
  const tenant = await service.call('POST', '/internal/tenants', '', { name: 'Halt', billingEmail: 'b@halt.example' })
  const sims = Array.from({ length: SIMS }, (_, i) => ({ iccid: `89999${String(i).padStart(15, '0')}` }))
  const { created } = await service.call('POST', '/internal/sims', tenant.id, { sims })
  await servers.carrier.turn(SLOW)
  for (const { id } of created) await service.tenantCall('POST', '/api/tickets/provision', tenant.id, { simId: id })
  const tickets = async () =>
    (await service.rows(
      'select status, attempts, count(*)::integer as count from tickets group by 1, 2 order by 1, 2',
    )) as { status: number; attempts: number; count: number }[]
  await until('some tickets are with the carrier', async () =>
    (await tickets()).some(({ status, count }) => status === 1 && count > 0),
  )

  const pid = service.worker.pid() ?? 0
  process.kill(pid, 'SIGTERM')
  await until('the worker has ended', async () => service.worker.pid() !== pid, 40)

  const said = service.lines.filter((line) => line.startsWith('worker | ')).join('\n')
  expect(said).toMatch(/SIGTERM: stopping in order/)
  expect(said).toMatch(/"msg":"stopped"/)
  expect(said).not.toMatch(/not stopped within/)
  expect(said).toContain('ended unasked (exit code 0)')
  await soon(async () => expect((await tickets()).map(({ status }) => status)).toEqual([2]), 120)
  // One attempt each: none was in hand when the process ended, and none was given up.
  expect(await tickets()).toEqual([{ status: 2, attempts: 1, count: SIMS }])
  expect(await service.carrierStats()).toMatchObject({ effects: SIMS, doubleEffects: 0 })
})
