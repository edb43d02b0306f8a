/**
 * Lets the Temporal SDK download one of its servers: `node stack/temporal/download.ts <server> <folder> <version>`, where
 * the server is `temporal` or `temporal-test-server`.
 *
 * A process of its own, because the SDK keeps its native runtime as long as the process lives.
 */
import { TestWorkflowEnvironment } from '@temporalio/testing'

const [server = '', downloadDir = '', version = ''] = process.argv.slice(2)
try {
  const options = { server: { executable: { type: 'cached-download', downloadDir, version: `v${version}` } } } as const
  const environment =
    server === 'temporal'
      ? await TestWorkflowEnvironment.createLocal(options)
      : await TestWorkflowEnvironment.createTimeSkipping(options)
  await environment.teardown()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
