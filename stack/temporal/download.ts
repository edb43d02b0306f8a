/**
 * Lets the Temporal SDK download its development server: `node stack/temporal/download.ts <folder> <version>`.
 *
 * A process of its own, because the SDK keeps its native runtime as long as the process lives.
 */
import { TestWorkflowEnvironment } from '@temporalio/testing'

const [downloadDir = '', version = ''] = process.argv.slice(2)
try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir, version: `v${version}` } },
  })
  await environment.teardown()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
