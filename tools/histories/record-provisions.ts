/** Records histories of SIMs on their way to Active, singly and in batches. Part of record-histories.ts. */
import { provisionAndActivateId, provisionInBulkId } from '../../domain/temporal/ids.ts'
import { until } from '../../test/setup/soon.ts'
import { clear, type startHarness } from '../../test/workflows/harness.ts'
import { aSim, TENANT } from '../../test/workflows/model/service.ts'
import { aBatchSim } from '../../test/workflows/provision-in-bulk/batch-model.ts'

type Harness = Awaited<ReturnType<typeof startHarness>>
/** Waits for the end of a workflow and keeps the history of a run under a name; without `runId`, of the latest. */
type Keep = (name: string, workflowId: string, runId?: string) => Promise<void>

const SIM = 11
const NEW = { status: 0, poolId: null, tariffId: null } as const

export async function recordProvisions(harness: Harness, record: Keep): Promise<void> {
  await single(harness, record)
  await batches(harness, record)
  clear(harness.model)
}

/** A run whose signals are lost. Takes two minutes: each look comes after one. */
export async function recordLookedAt(harness: Harness, record: Keep): Promise<void> {
  await singly(harness, record)('found-by-a-look', () => {
    harness.model.signals = 'lost'
  })
}

const WORKFLOW_ID = provisionAndActivateId(TENANT, SIM)

const singly =
  ({ workflowClient, model }: Harness, record: Keep) =>
  async (
    name: string,
    prepare: () => void,
    act: () => Promise<void> = async () => {},
    more: object = {},
  ): Promise<void> => {
    clear(model)
    model.sims.set(SIM, aSim(NEW))
    prepare()
    const input = { tenantId: TENANT, simId: SIM, poolId: 7, tariffId: 3, ...more }
    await workflowClient.start({ type: 'provision-and-activate', workflowId: WORKFLOW_ID, input })
    await act()
    await record(`provision-and-activate-${name}`, WORKFLOW_ID)
  }

async function single(harness: Harness, record: Keep): Promise<void> {
  const { workflowClient, model } = harness
  const run = singly(harness, record)
  const cancel = () => workflowClient.cancel(WORKFLOW_ID)
  const has = (ticket: string) => until(ticket, () => model.ticketsOf(SIM).includes(ticket))

  await run('activated', () => {})
  await run('already-active', () => model.sims.set(SIM, aSim()))
  await run('provisioned-before', () => model.sims.set(SIM, aSim({ status: 2 })))
  await run('refused', () => model.sims.set(SIM, aSim({ poolId: 8 })))
  await run('provision-failed', () => model.failing.set('provision', 'carrier_rejected'))
  await run('compensated', () => model.failing.set('activate', 'carrier_rejected'))
  await run('compensation-failed', () => {
    model.failing.set('activate', 'carrier_rejected')
    model.failing.set('unassign', 'carrier_unavailable')
  })
  await run(
    'cancelled-provisioning',
    () => model.pending.add('provision'),
    async () => {
      await has('provision:0')
      await cancel()
    },
  )
  await run(
    'cancelled',
    () => model.pending.add('activate'),
    async () => {
      await has('provision:2')
      await has('activate:0')
      await cancel()
    },
  )
  await run(
    'cancelled-too-late',
    () => model.processing.add('activate'),
    async () => {
      await has('activate:1')
      await cancel()
      await until('a ticket taken back', () => model.calls('DELETE') > 0)
      model.processing.clear()
    },
  )
  await run(
    'waited-for-others',
    () => {
      model.sims.set(SIM, aSim())
      model.tickets.push({ id: 'x', kind: 'suspend', simId: SIM, status: 0, failureCode: null, body: {} })
    },
    async () => {
      await until('a requested ticket', () => model.calls('/tickets/provision') > 0)
      model.tickets.length = 0
    },
  )
  await run(
    'tagged',
    () => {},
    async () => {},
    { tag: 'meter 17' },
  )
}

async function batches({ workflowClient, model }: Harness, record: Keep): Promise<void> {
  async function run(
    name: string,
    sims: number,
    act: (batch: { id: string; begun: (simId: number) => Promise<void> }) => Promise<void>,
    more: { parallel?: number; perRun?: number } = {},
  ): Promise<string> {
    const workflowId = provisionInBulkId(TENANT, name)
    clear(model)
    for (let index = 0; index < sims; index += 1) {
      model.batch.push(aBatchSim(index, SIM + index))
      model.sims.set(SIM + index, aSim(NEW))
    }
    const options = { parallel: 2, pageSize: 2, perRun: 100, ...more }
    const input = { tenantId: TENANT, batchId: name, ...options }
    const ready = Promise.withResolvers<void>()
    const acted = act({
      id: workflowId,
      begun: async (simId) => {
        ready.resolve()
        await until('a ticket', () => model.ticketsOf(simId).length > 0)
      },
    })
    await Promise.race([ready.promise, acted])
    const { runId } = await workflowClient.start({ type: 'provision-in-bulk', workflowId, input })
    await acted
    await record(`provision-in-bulk-${name}`, workflowId)
    return runId
  }

  await run('done', 3, async () => {})
  await run('failures', 3, async () => {
    model.failing.set(`activate/${SIM + 1}`, 'carrier_rejected')
  })
  await run('cancelled', 4, async ({ id, begun }) => {
    model.pending.add('provision')
    await begun(SIM)
    await workflowClient.cancel(id)
  })
  await run('waited-for-another', 2, async ({ begun }) => {
    model.processing.add('provision')
    const input = { tenantId: TENANT, simId: SIM, poolId: 7, tariffId: 3 }
    const workflowId = provisionAndActivateId(TENANT, SIM)
    await workflowClient.start({ type: 'provision-and-activate', workflowId, input })
    await until('a ticket that is processed', () => model.ticketsOf(SIM).includes('provision:1'))
    await begun(SIM + 1)
    model.processing.clear()
  })
  // The second run continues to wait for a SIM that the first has begun.
  const first = await run(
    'continued',
    3,
    async ({ begun }) => {
      model.stuck.add(`provision/${SIM}`)
      await begun(SIM + 2)
      model.stuck.clear()
    },
    { perRun: 2 },
  )
  await record('provision-in-bulk-continues', provisionInBulkId(TENANT, 'continued'), first)
}
