/** `simherd rules load [folder]` */
import { userInfo } from 'node:os'
import type { Settings } from '../../config/index.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'
import { internalClient, ProblemResponse, responseOf } from '../service.ts'
import { serviceOf } from '../service-address.ts'

/** How long to wait for a service that is away. Short, because a person is waiting. */
const PATIENCE_MS = 5000

/**
 * Puts the rule files of a folder in force: all of them, or none.
 *
 * @param folder empty: RULES_DIR, or the shipped rules
 * @throws CommandFailure with every fault of every file; the previous rule set stays in force
 */
export async function loadRules(settings: Settings, folder: string): Promise<void> {
  const files = await readRuleFiles(folder || settings.RULES_DIR).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  const { url, key } = await serviceOf(settings)
  const service = internalClient({ url, key, patienceMs: PATIENCE_MS })
  try {
    const body = { files, author: userInfo().username }
    const { version, changed } = await responseOf(service.POST('/internal/rules', { body }))
    print(
      changed
        ? `version ${version} is in force: ${files.length} files; every subject is evaluated anew`
        : `version ${version} with these ${files.length} files was in force already`,
    )
  } catch (error) {
    if (!(error instanceof ProblemResponse)) throw error
    const faults = error.faults.map((fault) => `\n  ${fault}`).join('')
    throw new CommandFailure(`${error.message}${faults}`, ExitCode.failure, { cause: error })
  }
}
