/** One in-memory Temporal development server for the whole run, and the time-skipping server if Java is installed. */
import type { TestProject } from 'vitest/node'
import { userCacheDir } from '../../stack/downloads.ts'
import { findTemporalServer } from '../../stack/temporal/binary.ts'
import { timeSkippingServer } from '../../stack/temporal/java.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { share } from './shared.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** host:port of a Temporal server that all test files share: use a task queue of your own. */
    temporalAddress: string
    /** The program of the time-skipping server, or why there is none; see `requireJava`. */
    timeSkipping: { readonly path: string } | { readonly skip: string }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporal = await share('temporal', startServer)
  project.provide('temporalAddress', temporal.server.address)
  const java = await share('java', findJava)
  project.provide('timeSkipping', java.server.found)
  return async () => {
    await java.leave()
    await temporal.leave()
  }
}

const onProgress = (line: string) => console.log(line)

async function startServer() {
  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress })
  return startTemporal({ program })
}

async function findJava() {
  const found = await timeSkippingServer({ cacheDir: userCacheDir(), onProgress })
  return { found, stop: async () => undefined }
}
