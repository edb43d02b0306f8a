/** What persons do about a suspension, on the real service. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { useCustomer } from './customer.ts'

describeInSkippedTime('suspend-on-overage on the real service', (path) => {
  const { harness, customer } = useCustomer(path)
  let cycle: Cycle
  beforeEach(async () => {
    cycle = await harness.skipToMonth(10)
  })

  const suspended = async () => {
    const [simId = 0] = await customer.suspended(1, await customer.plainPool(), cycle)
    return simId
  }
  const runOf = (simId: number) => customer.workflow(customer.suspensionId(simId, cycle.key))
  const resultOf = async (simId: number) => (await customer.ended(customer.suspensionId(simId, cycle.key))).result
  const isPassedOver = async (simId: number) =>
    (await customer.inside('GET', `/internal/sims/${simId}/enforcement?cycle=${cycle.key}`)).passedOver
  const monthEnd = async () => {
    await harness.skipTo(cycle.endsAt)
    return customer.monthEnd(cycle)
  }

  describe('a person', () => {
    test('keeps a SIM suspended over the month end', async () => {
      const simId = await suspended()
      expect(await customer.update(simId, cycle.key, 'keepSuspended')).toMatchObject({
        phase: 'suspended',
        until: 'manual',
      })
      await soon(async () => {
        const { suspension } = await customer.inside('GET', `/internal/sims/${simId}/enforcement`)
        expect(suspension).toMatchObject({ cause: 'watchdog', until: 'manual' })
      })

      expect(await monthEnd()).toMatchObject({ renewed: 0 })
      expect(await resultOf(simId)).toMatchObject({ outcome: 'manual', suspended: 1, broughtBack: 0 })
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
      await customer.api('POST', '/api/tickets/activate', { simId })
      await customer.untilSim(simId, { status: 1 })
    })

    test('takes over a SIM by suspending it in grace', async () => {
      // Here it has two days of grace.
      const [simId = 0] = await customer.active(1, await customer.plainPool('patient'))
      await customer.usage(simId, 150)
      await customer.untilPhase(simId, cycle.key, 'grace')
      await customer.api('POST', '/api/tickets/suspend', { simId })

      expect(await resultOf(simId)).toMatchObject({ outcome: 'personActed', suspended: 0 })
      expect(await monthEnd()).toMatchObject({ renewed: 0 })
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
    })

    test('ends enforcement by cancelling the suspend ticket', async () => {
      const [simId = 0] = await customer.active(1, await customer.plainPool())
      const letGo = harness.pump.hold('tickets')
      await customer.usage(simId, 150)
      await customer.untilPhase(simId, cycle.key, 'suspending')
      await soon(async () => expect(await customer.tickets(simId)).toContain('suspend/pending'))
      const { state } = await runOf(simId)
      await customer.api('DELETE', `/api/tickets/${state.suspendTickets[0]}`)

      expect(await resultOf(simId)).toMatchObject({ outcome: 'personActed', suspended: 0 })
      letGo()
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
      expect(await isPassedOver(simId)).toBe(true)
    })

    test('retries a cancelled run, which owns its SIM', async () => {
      const simId = await suspended()
      const id = customer.suspensionId(simId, cycle.key)
      await customer.inside('POST', `/internal/workflows/${id}/cancel`)
      expect((await customer.ended(id)).status).toBe('cancelled')
      expect(await customer.sim(simId)).toMatchObject({ status: 2 })
      // The SIM is passed over until the retry: no pool picks it in this cycle, and no rule suspends it.
      expect(await isPassedOver(simId)).toBe(true)
      await customer.inside('POST', `/internal/workflows/${id}/retry`)
      expect(await isPassedOver(simId)).toBe(false)
      await customer.untilPhase(simId, cycle.key, 'suspended')

      expect(await monthEnd()).toMatchObject({ renewed: 1 })
      expect(await resultOf(simId)).toMatchObject({ outcome: 'renewed', suspended: 0, broughtBack: 1 })
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
    })
  })
})
