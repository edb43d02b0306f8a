import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { type BulkFlags, bulkTickets } from '../../../cli/commands/bulk-tickets.ts'
import { CommandFailure } from '../../../cli/failures.ts'
import type { BulkType } from '../../../domain/tickets/bulk.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aPool, aSim } from '../harness.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
const carrier = await aCarrier()
const OPTIONS = { leaseMs: 10_000, retryMinMs: 10, retryMaxMs: 10, attempts: 1, patienceMs: 3_600_000 }
const bulk = (type: BulkType, flags: Omit<BulkFlags, 'tenant'>) =>
  bulkTickets(command.settings, type, { ...flags, tenant: harness.tenant.id })

/** Opens and executes the tickets of bulk runs, as a worker does. */
async function work(): Promise<void> {
  const { id: tenantId } = harness.tenant
  await openBulkTickets(harness.store, async () => undefined, tenantId)
  await executeTickets(harness.store, carrier.network, OPTIONS, tenantId)
}

async function inAPool(count: number) {
  const poolId = await aPool(harness.tenant)
  const sims = []
  for (let made = 0; made < count; made++) {
    const sim = await aSim(harness.tenant)
    await harness.tenant.inside('POST', '/internal/tickets/provision', { simId: sim.id, poolId })
    await executeTickets(harness.store, carrier.network, OPTIONS, harness.tenant.id)
    sims.push(sim)
  }
  return { poolId, sims }
}

describe('tickets bulk', () => {
  test('counts tickets and explains refusals in a dry run', async () => {
    const { sims } = await inAPool(2)
    const fresh = await aSim(harness.tenant)
    const file = join(command.folder, 'sims.csv')
    await writeFile(file, `iccid\n${[...sims, fresh].map(({ iccid }) => iccid).join('\n')}\n`)

    await bulk('activate', { file, dryRun: true })

    expect(lines[0]).toBe('dry run: of 3 SIMs 2 would get a ticket, 1 would be refused')
    expect(lines).toContainEqual(expect.stringMatching(/^sim_state_conflict +1$/))
    expect(lines.at(-1)).toMatch(new RegExp(`^ {2}3\\. ${fresh.iccid}: .*unprovisioned`))
    expect((await harness.tenant.inside('GET', '/internal/bulk-tickets')).body.data).toEqual([])
  })

  test('waits for every ticket and prints the outcome', async () => {
    const { poolId } = await inAPool(2)

    const waiting = bulk('activate', { filterPool: poolId, filterStatus: 2, wait: true })
    await vi.waitUntil(() => lines.length > 0)
    await work()
    await waiting

    expect(lines[0]).toMatch(/^bulk run [0-9a-f-]{36}: 2 SIMs to get a ticket, 0 refused so far$/)
    expect(lines).toContainEqual(expect.stringMatching(/^complete +2$/))
  })

  test('fails if a ticket has failed', async () => {
    const { poolId } = await inAPool(1)
    await carrier.turn({ failureRate: 1 })

    const waiting = bulk('activate', { filterPool: poolId, wait: true }).catch((error: unknown) => error)
    await vi.waitUntil(() => lines.length > 0)
    await work()
    const failure = await waiting
    await carrier.turn({ failureRate: 0 })

    expect(failure).toBeInstanceOf(CommandFailure)
    expect(failure).toMatchObject({ exitCode: 1, message: expect.stringMatching(/^1 ticket failed/) })
  })

  test.each<[string, BulkType, Omit<BulkFlags, 'tenant'>, number, RegExp]>([
    ['no SIMs', 'refresh', {}, 2, /say which SIMs, in one way/],
    ['SIMs in two ways', 'refresh', { all: true, search: 'x' }, 2, /say which SIMs, in one way/],
    ['a file that is not there', 'refresh', { file: '/nowhere.csv' }, 2, /nowhere/],
    ['a pool that is not there', 'provision', { all: true, pool: 999_999 }, 3, /There is no pool 999999/],
    ['an SMS without a text', 'send-sms', { all: true }, 2, /message/],
  ])('refuses %s', async (_, type, flags, exitCode, message) => {
    await expect(bulk(type, flags)).rejects.toMatchObject({ exitCode, message: expect.stringMatching(message) })
  })
})
