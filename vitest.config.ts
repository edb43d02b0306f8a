import { defineConfig } from 'vitest/config'
import Sequence from './test/setup/sequence.ts'

const DATABASE = 'test/setup/global.ts'
const TEMPORAL = 'test/setup/global-temporal.ts'

/** @param seconds how long one test may take: much more than it does, so that only a test that hangs reaches it */
const project = (name: string, seconds: number, globalSetup: string[] = []) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    globalSetup,
    testTimeout: seconds * 1000,
    hookTimeout: Math.max(seconds, 60) * 1000,
  },
})

export default defineConfig({
  test: {
    pool: 'forks',
    // Two cores are the least machine; what the tests wait for are the servers, which need cores too.
    maxWorkers: 2,
    sequence: { sequencer: Sequence },
    setupFiles: ['test/setup/properties.ts'],
    expect: { poll: { timeout: 30_000 } },
    projects: [
      project('unit', 30),
      project('store', 60, [DATABASE]),
      project('operations', 60, [DATABASE]),
      project('api', 60, [DATABASE]),
      project('queues', 120, [DATABASE]),
      project('stack', 120),
      project('workflows', 240, [DATABASE, TEMPORAL]),
      project('e2e', 900, [DATABASE, TEMPORAL]),
      project('faults', 1800, [DATABASE, TEMPORAL]),
      project('demo', 1200),
    ],
  },
})
