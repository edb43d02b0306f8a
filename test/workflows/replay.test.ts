import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { WORKFLOW_TYPES } from '../../domain/temporal/ids.ts'
import { bundleWorkflows } from '../../worker/bundle-workflows.ts'
import { installRuntime } from '../../worker/start-temporal-worker.ts'
import { collectCommands, commandsOf, differences, idOf } from './commands.ts'
import { digestOf, readHistory, recordedLines } from './history-files.ts'

const folder = new URL('../histories/', import.meta.url)
const textOf = (name: string) => readFileSync(new URL(name, folder), 'utf8')
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .sort()
const historyOf = (name: string) => readHistory(textOf(name))

describe('the replay of recorded runs', () => {
  let code = ''
  beforeAll(async () => {
    installRuntime(pino({ level: 'silent' }))
    code = await bundleWorkflows([fileURLToPath(new URL('commands-interceptor.ts', import.meta.url))])
  })
  /**
   * Replays runs one after the other, on one worker.
   *
   * @returns differences in the inputs of activities, children and continued runs, which the SDK does not compare, for
   *   each run; or the SDK's error
   */
  const replayAll = async (bundle: string, files: readonly string[]): Promise<Map<string, string[] | Error>> => {
    const runs = files.map((name) => ({ name, history: historyOf(name) }))
    const { take, sinks } = collectCommands()
    const outcomes = new Map<string, string[] | Error>()
    const left = runs.values()
    const options = { workflowBundle: { code: bundle }, replayName: 'recorded', sinks }
    const given = runs.map(({ history }) => ({ history, workflowId: idOf(history) }))
    for await (const { error } of Worker.runReplayHistories(options, given)) {
      const { value: run } = left.next()
      const commands = take()
      if (run !== undefined) outcomes.set(run.name, error ?? differences(commandsOf(run.history), commands))
    }
    return outcomes
  }
  const replay = async (bundle: string, name: string): Promise<string[]> => {
    const outcome = (await replayAll(bundle, [name])).get(name)
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error(`${name} was not replayed`)
    return outcome
  }
  let outcomes: ReadonlyMap<string, string[] | Error>
  beforeAll(async () => {
    outcomes = await replayAll(code, names)
  })

  test('covers each workflow type', () => {
    expect(WORKFLOW_TYPES.filter((type) => !names.some((name) => name.startsWith(type)))).toEqual([])
  })

  test.each(names)('replays %s with the same inputs', (name) => {
    expect(outcomes.get(name)).toEqual([])
  })

  test('needs a recorded.jsonl line for each changed file', () => {
    const lines = recordedLines(textOf('recorded.jsonl'))
    const last = new Map(lines.map((line) => [line.file, line.sha256]))
    const again = lines.filter(({ file }, i) => lines.findIndex((line) => line.file === file) < i)

    expect(Object.fromEntries([...last].filter(([, sha256]) => sha256 !== null))).toEqual(
      Object.fromEntries(names.map((name) => [name, digestOf(textOf(name))])),
    )
    expect(again.filter(({ why = '' }) => why.length < 20)).toEqual([])
  })

  test.each([
    ['another activity', '.openBothTickets(', '.openTicketOf('],
    ['a step left out', "first.kind === 'activate'", "first.kind === 'provision'"],
  ])('catches a change that breaks runs: %s', async (_, now, broken) => {
    const changed = code.replaceAll(now, broken)
    expect(changed).not.toBe(code)
    await expect(replay(changed, 'provision-and-activate-tagged.json')).rejects.toThrow(DeterminismViolationError)
  })

  test('catches a changed key of a step', async () => {
    const changed = code.replaceAll('`${workflowId}/${firstExecutionRunId}/${step}`', '`${workflowId}/${step}`')
    expect(changed).not.toBe(code)
    expect((await replay(changed, 'provision-and-activate-activated.json')).join()).toMatch(
      /^activity 1 openBothTickets: /,
    )
  })

  test('accepts a change guarded by `patched`', async () => {
    const begin = code.indexOf('!*** ./workflows/provision-and-activate.ts ***!')
    const module = code.slice(begin, code.indexOf('\n/***/ },', begin))
    const workflow = /_temporalio_workflow__WEBPACK_IMPORTED_MODULE_\d+__/.exec(module)?.[0]
    const now = "first.kind === 'activate'"
    const guarded = module.replaceAll(
      now,
      `first.kind === (${workflow}.patched('elsewhere') ? 'provision' : 'activate')`,
    )
    expect(guarded).not.toBe(module)

    const changed = code.replace(module, () => guarded)
    await expect(replay(changed, 'provision-and-activate-tagged.json')).resolves.toEqual([])
  })
})
