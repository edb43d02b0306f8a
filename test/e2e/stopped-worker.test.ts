/** A worker is stopped with work in hand, by SIGTERM, as by a deployment or `docker stop`. */
import { afterAll, expect, test } from 'vitest'
import type { Knobs } from '../../stack/carrier/knobs.ts'
import { ownServers } from '../setup/own-servers.ts'
import { startService } from '../setup/service.ts'
import { soon, until } from '../setup/soon.ts'

const SIMS = 40
/** So slow that work is in hand at the SIGTERM, but well within the worker's time limit for a stop. */
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
  await until('tickets at the carrier', async () =>
    (await tickets()).some(({ status, count }) => status === 1 && count > 0),
  )

  const pid = service.worker.pid() ?? 0
  process.kill(pid, 'SIGTERM')
  await until('the end of the worker', async () => service.worker.pid() !== pid, 40)

  const output = service.lines.filter((line) => line.startsWith('worker | ')).join('\n')
  expect(output).toMatch(/SIGTERM: stopping in order/)
  expect(output).toMatch(/"msg":"stopped"/)
  expect(output).not.toMatch(/not stopped within/)
  expect(output).toContain('ended unasked (exit code 0)')
  await soon(async () => expect((await tickets()).map(({ status }) => status)).toEqual([2]), 120)
  // One attempt each: no ticket was in hand when the process ended, and none was abandoned.
  expect(await tickets()).toEqual([{ status: 2, attempts: 1, count: SIMS }])
  expect(await service.carrierStats()).toMatchObject({ effects: SIMS, doubleEffects: 0 })
})
