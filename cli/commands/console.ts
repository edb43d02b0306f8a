/** `simherd console`: a link that signs in to the console. */

import type { InternalClient } from '../../adapters/rest/client.ts'
import { withoutSlash } from '../../domain/http.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { readStack } from '../stack-file.ts'

interface ConsoleLink {
  readonly url: string
  readonly expiresAt: string
}

/** Makes a link that signs in once, with the rights of the client's key. @param consoleUrl without a trailing slash */
export async function makeConsoleLink(service: InternalClient, consoleUrl: string): Promise<ConsoleLink> {
  const { path, expiresAt } = await responseOf(service.POST('/internal/sign-in-links'))
  return { url: consoleUrl + path, expiresAt }
}

/** Prints such a link. @throws CommandFailure if there is no console */
export async function printConsoleLink(settings: Settings, flags: OutputFlags): Promise<void> {
  const consoleUrl = await findConsole(settings)
  const link = await askService({ settings }, (service) => makeConsoleLink(service, consoleUrl))
  printAnswer(flags, link, ({ url }) => [url])
  console.error('It signs in once, within 15 minutes, with the rights of your key.')
}

async function findConsole(settings: Settings): Promise<string> {
  const stack = settings.CONSOLE_URL === '' ? await readStack(settings.DATA_DIR) : undefined
  const found = stack === undefined ? consoleUrlOf(settings) : stack.consoleUrl
  if (found !== null) return found
  throw new CommandFailure(
    'there is no console: CONSOLE_PORT is off; CONSOLE_URL names one of another process',
    ExitCode.usage,
  )
}

/** Address of the console as browsers see it, without a trailing slash; null: there is none. */
export function consoleUrlOf({ CONSOLE_URL, CONSOLE_PORT }: Settings): string | null {
  if (CONSOLE_URL !== '') return withoutSlash(CONSOLE_URL)
  return CONSOLE_PORT === 'off' ? null : `http://127.0.0.1:${CONSOLE_PORT}`
}
