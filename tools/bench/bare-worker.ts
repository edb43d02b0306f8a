/** A worker for `bare`, in a separate process like Simherd's worker. Usage: node tools/bench/bare-worker.ts <address> */
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'

export const BARE_QUEUE = 'bench-bare'

/** An activity that does nothing. */
export const nothing = async (): Promise<void> => undefined

if (import.meta.main) {
  const [address = ''] = process.argv.slice(2)
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    taskQueue: BARE_QUEUE,
    workflowsPath: fileURLToPath(new URL('bare-workflow.ts', import.meta.url)),
    activities: { nothing },
    maxConcurrentActivityTaskExecutions: 100,
  })
  const ended = worker.run()
  console.log('runs')
  await ended
}
