/** The API and the worker, as child processes, restarted when they die. */
import { fileURLToPath } from 'node:url'
import { childEnv } from '../../process/child-env.ts'
import type { Settings } from '../../process/settings.ts'
import { supervise } from '../../stack/supervise.ts'
import { hasAll } from './answers.ts'
import type { ServerContext } from './servers.ts'

const COMMAND = fileURLToPath(new URL('../simherd.js', import.meta.url))

/**
 * Short times for one's own machine, unless the environment sets others. A mail should appear at once, not in an hour.
 * No load balancer waits.
 * A lost response of the simulated carrier should be overcome in seconds.
 */
const SHORT_TIMES = {
  MAIL_GROUP_FIRST: 'PT10S',
  MAIL_GROUP_NEXT: 'PT1M',
  CARRIER_TIMEOUT: 'PT5S',
  SWEEP_EVERY: 'PT2S',
  STOP_DELAY: 'PT0S',
} as const

/** @param settings of the child; they override the environment */
export async function bringUp(
  name: 'api' | 'worker',
  settings: Partial<Settings>,
  readyUrl: string,
  { reporter, onChildLine, onPid, onStop }: ServerContext,
): Promise<void> {
  const child = await reporter.step(name === 'api' ? 'API' : 'worker', () =>
    supervise({
      name,
      args: [COMMAND, name],
      env: childEnv(settings, SHORT_TIMES),
      onLine: onChildLine,
      onPid: (pid) => void onPid({ [name]: pid }),
      ready: () => hasAll(readyUrl),
    }),
  )
  onStop(name === 'api' ? 'the API' : 'the worker', () => child.stop())
}
