/** `simherd rules put` and `remove`: one rule of the set in force. */
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { sourceOf } from '../../process/rule-files.ts'
import type { Settings } from '../../process/settings.ts'
import { askOnce, askService } from '../ask-service.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { responseOf } from '../service.ts'
import { type ChangeFlags, changeBody, refuseUnreadable } from './ask.ts'
import { printChanged } from './load.ts'

interface PutFlags extends ChangeFlags {
  /** Path below the rules folder. Default: the file's folder and name. */
  readonly as?: string
}

const seen = (expect: number) => ({ header: { 'If-Match': `"${expect}"` } })

/** Puts a file into the set in force. With `expect`, only into that version. @throws CommandFailure with every fault */
export async function putRule(settings: Settings, path: string, flags: PutFlags): Promise<void> {
  const { expect, as, ...rest } = flags
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  const file = as ?? `${basename(dirname(path))}/${basename(path)}`
  const source = sourceOf(file, bytes)
  refuseUnreadable([source])
  const params = { path: { file }, ...(expect === undefined ? {} : seen(expect)) }
  const body = { text: source.text, ...changeBody(rest) }
  printChanged(
    flags,
    await askOnce(settings, (service) => service.PUT('/internal/rules/files/{file}', { params, body })),
  )
}

/** Takes a rule out of the set in force: the one that it was looked up in, or `expect`. */
export async function removeRule(settings: Settings, name: string, flags: ChangeFlags): Promise<void> {
  const { expect, ...rest } = flags
  const changed = await askService({ settings }, async (service) => {
    const { version, rules } = await responseOf(service.GET('/internal/rules'))
    const rule = rules.find((one) => one.name === name)
    if (rule === undefined) throw new CommandFailure(`no rule ${name} is in force`, ExitCode.notFound)
    const params = { path: { file: rule.file }, query: changeBody(rest), ...seen(expect ?? version) }
    return responseOf(service.DELETE('/internal/rules/files/{file}', { params }))
  })
  printChanged(flags, changed)
}
