/** One Temporal development server (in memory) for the whole run, and the one that skips time where Java is there. */
import type { TestProject } from 'vitest/node'
import { userCacheDir } from '../../stack/downloads.ts'
import { findTemporalServer } from '../../stack/temporal/binary.ts'
import { timeSkippingServer } from '../../stack/temporal/java.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { share } from './shared.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** host:port of a Temporal server that other test files use too: take a task queue of your own. */
    temporalAddress: string
    /** The time-skipping server's program, or why there is none; see `requireJava`. */
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
