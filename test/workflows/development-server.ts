/** Temporal's development server, which all test files share: a new namespace there, and clients for it. */
import { Client, Connection } from '@temporalio/client'
import { afterAll, inject } from 'vitest'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { freshNamespace } from '../setup/service.ts'
import { startHarness, useModel } from './harness.ts'

/** Temporal's own client, for calls that bypass the service. */
async function connect() {
  const [address, namespace] = [inject('temporalAddress'), await freshNamespace()]
  const connection = await Connection.connect({ address })
  const { workflow: temporal, schedule: schedules } = new Client({ connection, namespace })
  return { address, namespace, connection, temporal, schedules }
}

/** The workflow client, without a worker. Closed after the tests. */
export async function useTemporal() {
  const server = await connect()
  const workflowClient = openWorkflowClient(server)
  afterAll(async () => {
    await workflowClient.close()
    await server.connection.close()
  })
  return { ...server, workflowClient }
}

/** The harness, with a worker, for a group of tests. */
export const useServerHarness = () =>
  useModel(async () => {
    const server = await connect()
    const harness = await startHarness(server.address, server.namespace)
    const close = async () => {
      await harness.close()
      await server.connection.close()
    }
    return { ...server, ...harness, close }
  })
