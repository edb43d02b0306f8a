/** `simherd doctor`: checks installation, connections and migrations; suggests fixes. */
import { styleText } from 'node:util'
import type { Settings } from '../../process/settings.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { isJson, type OutputFlags, printJson } from '../output.ts'
import { printable } from '../print.ts'
import { readStack } from '../stack-file.ts'
import { CHECKS, type CheckContext, type CheckResult, FIGURES } from './checks.ts'

const MARK = { ok: styleText('green', '✓'), missing: styleText('red', '✗'), absent: styleText('dim', '–') } as const

/**
 * Prints all findings.
 *
 * @param options.figures whether to add up the kept figures of SIMs and usage again
 * @throws CommandFailure if something is missing, after all findings are printed
 */
export async function doctor(
  settings: Settings,
  { figures = false, ...flags }: OutputFlags & { readonly figures?: boolean },
): Promise<void> {
  const looked: CheckContext = { settings, stack: await readStack(settings.DATA_DIR) }
  const findings: CheckResult[] = [
    { what: 'Node', state: 'ok', detail: process.version, advice: '' },
    ...(await Promise.all(
      [...CHECKS, ...(figures ? [FIGURES] : [])].map(([what, check, advice]) =>
        lookAt(what, () => check(looked), advice),
      ),
    )),
  ]
  if (isJson(flags)) printJson(findings)
  else for (const line of findings.flatMap(linesOf)) console.log(line)
  const missing = findings.filter(({ state }) => state === 'missing')
  if (missing.length > 0) {
    throw new CommandFailure(`${missing.length} of ${findings.length} checks need attention`, ExitCode.failure)
  }
}

async function lookAt(what: string, check: () => Promise<CheckResult>, advice: string): Promise<CheckResult> {
  try {
    return await check()
  } catch (error) {
    return { what, state: 'missing', detail: wordsOf(error), advice }
  }
}

const WIDTH = 22

function linesOf({ what, state, detail, advice }: CheckResult): string[] {
  const line = `${MARK[state]} ${what.padEnd(WIDTH)} ${printable(detail)}`
  return advice === '' ? [line] : [line, `  ${' '.repeat(WIDTH)} → ${advice}`]
}
