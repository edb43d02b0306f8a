/** The requests of activities to the real service, and what it records about the requesting workflow. */
import { beforeEach, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { useCustomer } from './customer.ts'

describeInSkippedTime('activities', (path) => {
  const { harness, customer } = useCustomer(path)
  let cycle: Cycle
  let requests: string[] = []
  beforeEach(async () => {
    cycle = await harness.skipToMonth(10)
    requests = []
    harness.line.fateOf = (line) => {
      requests.push(line)
      return 'through'
    }
  })

  const changes = () => requests.filter((line) => !line.startsWith('GET ') && /\/tickets|\/sims/.test(line))
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  const ticketsOf = async (simId: number): Promise<any[]> => {
    const all: { id: string; simId: number }[] = await customer.api('GET', '/api/tickets')
    const own = all.filter((ticket) => ticket.simId === simId).reverse()
    return Promise.all(own.map(({ id }) => customer.inside('GET', `/internal/tickets/${id}`)))
  }
  const trailOf = async (workflowId: string): Promise<string[]> => {
    const { data } = await customer.inside('GET', `/internal/audit?workflowId=${encodeURIComponent(workflowId)}`)
    return data.map(({ action }: { action: string }) => action).reverse()
  }

  test('provision, tag and activate by specified endpoints', async () => {
    const [{ id } = { id: 0 }] = await customer.unprovisioned(1)
    const workflowId = provisionAndActivateId(customer.tenantId, id)
    const body = { simId: id, poolId: await customer.plainPool(), tag: 'door 4' }
    await customer.inside('POST', '/internal/workflows/provision-and-activate', body)

    expect(await customer.ended(workflowId)).toMatchObject({ result: { outcome: 'activated' } })
    expect(await customer.sim(id)).toMatchObject({ status: 1, tag: 'door 4' })
    const tag = `PATCH /api/sims/${id}/tag`
    expect(changes()).toEqual(['POST /api/tickets/provision', tag, 'POST /api/tickets/activate'])
    const cause = { by: 'workflow', workflowId }
    expect(await ticketsOf(id)).toMatchObject([{ cause }, { cause }])
    expect(await trailOf(workflowId)).toEqual(['provisionSim', 'tagSim', 'activateSim'])
  })

  test.each(['cleared', 'renewed'] as const)('name their workflow in suspension and return (%s)', async (why) => {
    const [simId = 0] = await customer.suspended(1, await customer.plainPool(), cycle)
    const workflowId = customer.suspensionId(simId, cycle.key)
    const { suspension } = await customer.inside('GET', `/internal/sims/${simId}/enforcement`)
    const cause = { rule: 'sim-overage', cycle: cycle.key, until: 'renewal', workflowId }
    expect(suspension).toMatchObject({ cause: 'watchdog', ...cause })
    requests = []

    if (why === 'cleared') await customer.usage(simId, -60, { correction: true })
    else {
      await harness.skipTo(cycle.endsAt)
      await customer.monthEnd(cycle)
    }
    await customer.untilSim(simId, { status: 1 })
    // The specification has no way to say that a return takes effect at the boundary.
    const back = why === 'cleared' ? 'POST /api/tickets/activate' : 'POST /internal/tickets/activate'
    expect(changes().filter((line) => line.includes('/tickets'))).toEqual([back])
    expect((await ticketsOf(simId)).slice(2)).toMatchObject([
      { type: 1, cause: { by: 'watchdog', ...cause } },
      { type: 0, cause: { by: 'watchdog', ...cause } },
    ])
  })
})
