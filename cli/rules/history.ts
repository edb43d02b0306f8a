/** `simherd rules history` and `simherd rules show`: the versions and their activations. */

import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { RuleChange } from '../../domain/rules/rule-change.ts'
import type { Settings } from '../../process/settings.ts'
import { askOnce } from '../ask-service.ts'
import { at } from '../instant.ts'
import { printJson } from '../output.ts'
import { print } from '../print.ts'
import { table } from '../table.ts'
import type { CheckFlags } from './check.ts'

interface HistoryFlags extends CheckFlags {
  readonly page?: number
  /** Only of this version. */
  readonly version?: number
}

/** Lists the history of the rules, newest first. */
export async function ruleHistory(settings: Settings, { output, page = 1, version }: HistoryFlags): Promise<void> {
  const params = { query: { page, ...dropUndefined({ version }) } }
  const found = await askOnce(settings, (service) => service.GET('/internal/rules/versions', { params }))
  if (output === 'json') return printJson(found)
  for (const line of table(['when', 'version', 'what', 'by', 'why'], found.data.map(rowOf))) print(line)
  if (found.pagination.hasNextPage) print(`older: --page ${page + 1}`)
}

const rowOf = ({ at: when, version, change, author, reason }: RuleChange) => [
  at(when),
  String(version),
  change,
  author,
  reason ?? '',
]

/** Shows the files of a version. */
export async function showVersion(settings: Settings, version: number, { output }: CheckFlags): Promise<void> {
  const params = { path: { version } }
  const found = await askOnce(settings, (service) => service.GET('/internal/rules/versions/{version}', { params }))
  if (output === 'json') return printJson(found)
  const { author, createdAt, reason, activatedAt, files } = found
  print(`version ${version}, by ${author} at ${at(createdAt)}${reason === null ? '' : `: ${reason}`}`)
  print(activatedAt === null ? 'never in force' : `in force last since ${at(activatedAt)}`)
  for (const { file, text } of files) print(`\n== ${file}\n${text.trimEnd()}`)
}
