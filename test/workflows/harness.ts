/** The harness of workflow tests: a worker, the workflow client, and a model of the service that activities call. */
import { pino } from 'pino'
import { beforeEach } from 'vitest'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import type { WorkflowType } from '../../domain/temporal/ids.ts'
import type { WorkflowSubject } from '../../domain/temporal/start.ts'
import { installRuntime, startTemporalWorker } from '../../worker/start-temporal-worker.ts'
import { useCommonHarness } from '../setup/common-harness.ts'
import { until } from '../setup/soon.ts'
import { workflowBundle } from '../setup/workflow-bundle.ts'
import { knobs, type ServiceModel, startServiceModel, TENANT } from './model/service.ts'
import { startSkippingServer } from './model/skipping-server.ts'

const log = pino({ level: process.env.LOG_LEVEL ?? 'silent' })

/** Starts a worker and a model of the service against a Temporal server. @param bundle default: the run's of the tests */
export async function startHarness(address: string, namespace: string, bundle = workflowBundle()) {
  const workflowClient = openWorkflowClient({ address, namespace })
  const model = await startServiceModel(() => workflowClient)
  const workflows = await bundle
  const begin = async () => {
    const begun = startTemporalWorker({
      address,
      namespace,
      serviceUrl: model.url,
      internalUrl: model.url,
      key: 'key',
      workflows,
      log,
      shutdownGraceMs: 100,
    })
    await until('a polling worker', () => begun.isRunning())
    return begun
  }
  let worker = await begin()
  /** Stops the worker. @returns starts it again */
  const sendWorkerAway = async () => {
    await worker.shutdown()
    return async () => {
      worker = await begin()
    }
  }
  /** Waits in real time until a workflow has ended. @returns its last run */
  const ended = (workflowId: string) =>
    until(`the end of ${workflowId}`, async () => {
      const run = await workflowClient.describe(workflowId, TENANT)
      return run.status !== 'running' && run
    })
  const close = async () => {
    await worker.shutdown()
    await workflowClient.close()
    await model.close()
  }
  return { workflowClient, model, sendWorkerAway, ended, close }
}

/** The same on a time-skipping server. */
async function startSkippingHarness(path: string) {
  installRuntime(log)
  const { env, leap, patiently, stop } = await startSkippingServer(path)
  const harness = await startHarness(env.address, env.namespace ?? 'default')
  const handleOf = (workflowId: string) => {
    const handle = env.client.workflow.getHandle(workflowId)
    return { ...handle, result: () => patiently(() => handle.result()) }
  }

  return {
    ...harness,
    env,
    leap,
    handleOf,
    start: async (type: WorkflowType, workflowId: string, input: WorkflowSubject) => {
      await harness.workflowClient.start({ type, workflowId, input })
      return handleOf(workflowId)
    },
    /** Waits in real time until a workflow's state has these values. @returns the state */
    untilState: (workflowId: string, wanted: object) =>
      until(`${workflowId} with ${JSON.stringify(wanted)}`, async () => {
        const state = await handleOf(workflowId).query<object>('state')
        if (Object.entries(wanted).every(([key, value]) => Reflect.get(state, key) === value)) return state
        throw new Error(JSON.stringify(state))
      }),
    close: async () => {
      await harness.close()
      await stop()
    },
  }
}

/** A harness for a group of tests, its model as new before each. */
export function useModel<H extends { readonly model: ServiceModel; readonly close: () => Promise<unknown> }>(
  start: () => Promise<H>,
): H {
  const { harness } = useCommonHarness(start)
  beforeEach(() => clear(harness.model))
  return harness
}

/** The same on a time-skipping server. @param path its program */
export const useSkippingHarness = (path: string) => useModel(() => startSkippingHarness(path))

/** Resets a model to its first state. */
export function clear(model: ServiceModel): void {
  for (const value of Object.values(model)) {
    if (Array.isArray(value)) value.length = 0
    else if (value instanceof Map || value instanceof Set) value.clear()
  }
  Object.assign(model, knobs())
}
