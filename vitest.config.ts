import { defineConfig } from 'vitest/config'
import { LEFT_OUT } from './test/long.ts'
import Sequence from './test/setup/sequence.ts'

const DATABASE = 'test/setup/global.ts'
const TEMPORAL = 'test/setup/global-temporal.ts'
const BUNDLE = 'test/setup/global-bundle.ts'

/** @param seconds how long one test may take: much more than it does on a slow machine, so that only a test that hangs reaches it */
const project = (name: string, seconds: number, globalSetup: string[] = []) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    exclude: [...LEFT_OUT],
    globalSetup,
    testTimeout: seconds * 1000,
    hookTimeout: Math.max(seconds, 60) * 1000,
  },
})

/** Its files share a process, which imports the application once. */
const shared = (name: string, seconds: number, globalSetup: string[] = []) => {
  const { test, ...rest } = project(name, seconds, globalSetup)
  return { ...rest, test: { ...test, isolate: false } }
}

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than the least machine has cores: tests wait for the servers much of their time.
    maxWorkers: 3,
    sequence: { sequencer: Sequence },
    // Node imports TypeScript itself, as in use, and faster.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: ['test/setup/cost.ts', 'test/setup/properties.ts'],
    projects: [
      shared('unit', 120),
      shared('store', 300, [DATABASE]),
      shared('service', 300, [DATABASE]),
      shared('api', 300, [DATABASE]),
      project('adapters', 300, [DATABASE]),
      project('stack', 300),
      shared('workflows', 300, [DATABASE, TEMPORAL, BUNDLE]),
      project('e2e', 900, [DATABASE, TEMPORAL, BUNDLE]),
      project('faults', 1800, [DATABASE, TEMPORAL, BUNDLE]),
      project('demo', 1200),
    ],
  },
})
