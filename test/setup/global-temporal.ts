/** One in-memory Temporal development server for the whole run, and the program of the server that skips time. */
import type { TestProject } from 'vitest/node'
import { userCacheDir } from '../../stack/downloads.ts'
import { findSkippingServer, findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { share } from './shared.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** host:port of a Temporal server that all test files share: use a task queue of your own. */
    temporalAddress: string
    /** The program of the server that skips time, or why there is none; see `describeInSkippedTime`. */
    timeSkipping: { readonly path: string } | { readonly skip: string }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporal = await share('temporal', startServer)
  project.provide('temporalAddress', temporal.server.address)
  const skipping = await share('time-skipping program', findSkippingProgram)
  project.provide('timeSkipping', skipping.server.found)
  return async () => {
    await skipping.leave()
    await temporal.leave()
  }
}

const onProgress = (line: string) => console.log(line)

async function startServer() {
  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress })
  return startTemporal({ program })
}

async function findSkippingProgram() {
  const found = await findSkippingServer({ cacheDir: userCacheDir(), onProgress }).then(
    (path) => ({ path }),
    // The reason stands in a line of others at the end of the run.
    (error: unknown) => ({ skip: String(error).replaceAll(/\s*\n\s*/g, ' ') }),
  )
  return { found, stop: async () => undefined }
}
