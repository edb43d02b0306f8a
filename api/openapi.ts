/** Makes the OpenAPI documents for files, without a database, from the same applications that serve requests. */

import { openWorkflowClient } from '../adapters/temporal/client.ts'
import { rulesInForce } from '../service/rules/rules-in-force.ts'
import { connect } from '../store/connect.ts'
import type { Store } from '../store/tenancy.ts'
import type { App } from './http/app.ts'
import { buildInternal, buildPublic } from './server.ts'

/** Describes an application that gets no requests, so that nothing connects. */
async function describe(build: (store: Store) => Promise<App>): Promise<object> {
  const { db, close } = connect('postgres://127.0.0.1/none')
  const app = await build({ db, clock: Date.now, enqueue: () => undefined })
  const document = app.swagger()
  await app.close()
  await close()
  return document
}

const options = {
  billingCycle: 'P1M',
  currency: 'EUR',
  rules: rulesInForce(),
  workflowClient: openWorkflowClient({ address: '127.0.0.1:1', namespace: 'none' }),
  workflowOptions: { closeAfter: 'PT0S' },
  esim: { smdpHost: 'smdp.simherd.example', iccidPrefix: '8999901' },
  dependencies: [],
}

/** The document of the public interface. */
export const openapiDocument = (): Promise<object> => describe((store) => buildPublic({ store }))

/** The document of the internal interface. */
export const internalOpenapiDocument = (): Promise<object> => describe((store) => buildInternal({ store, ...options }))
