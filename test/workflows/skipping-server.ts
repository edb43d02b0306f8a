/** The Java server that skips time. */
import { TestWorkflowEnvironment } from '@temporalio/testing'

/** The SDK gives it five seconds to listen; on a busy machine Java takes longer the first time. */
const ATTEMPTS = 5

/** @param path its program */
export async function startSkippingServer(path: string): Promise<TestWorkflowEnvironment> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
      })
    } catch (error) {
      const late = error instanceof Error && error.message.includes('did not start within')
      if (!late || attempt === ATTEMPTS) throw error
    }
  }
}
