/** The service address and the key of a command's requests. */

import { readServiceKey } from '../process/read-service-key.ts'
import type { Settings } from '../process/settings.ts'
import { CommandFailure, ExitCode } from './failures.ts'
import { readStack } from './stack-file.ts'

/**
 * The service that the settings name, else the one that `simherd start` runs in the data folder.
 *
 * @throws CommandFailure if there is neither, or if SERVICE_INTERNAL_URL has no key
 */
export async function serviceOf(settings: Settings): Promise<{ readonly url: string; readonly key: string }> {
  const key = await readServiceKey(settings)
  if (key !== '') return { url: settings.SERVICE_INTERNAL_URL || `http://127.0.0.1:${settings.INTERNAL_PORT}`, key }
  if (settings.SERVICE_INTERNAL_URL !== '') {
    throw new CommandFailure(
      `SERVICE_INTERNAL_URL is ${settings.SERVICE_INTERNAL_URL}, but SERVICE_KEY is not set. Set both, or neither to use ` +
        `the service in ${settings.DATA_DIR}`,
      ExitCode.usage,
    )
  }
  const stack = await readStack(settings.DATA_DIR)
  if (stack !== undefined) return { url: stack.internalUrl, key: stack.operatorKey }
  throw new CommandFailure(
    `no service: nothing runs in ${settings.DATA_DIR} ("npm start" does), and SERVICE_KEY is not set. ` +
      'Set DATA_DIR to the folder of a running one, or SERVICE_INTERNAL_URL and SERVICE_KEY.',
    ExitCode.unreachable,
  )
}
