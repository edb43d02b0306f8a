import { defineConfig } from 'vitest/config'

const DATABASE = 'test/setup/global.ts'
const TEMPORAL = 'test/setup/global-temporal.ts'

/** @param seconds how long one test may take */
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
    projects: [
      project('unit', 5),
      project('store', 20, [DATABASE]),
      project('operations', 20, [DATABASE]),
      project('api', 20, [DATABASE]),
      project('queues', 60, [DATABASE]),
      project('stack', 60),
      project('workflows', 120, [DATABASE, TEMPORAL]),
      project('e2e', 300, [DATABASE, TEMPORAL]),
      project('faults', 900, [DATABASE, TEMPORAL]),
    ],
  },
})
