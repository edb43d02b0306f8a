import { readdirSync, readFileSync } from 'node:fs'
import { Worker } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { WORKFLOW_TYPES } from '../../domain/lifecycle.ts'
import { installRuntime } from '../../worker/temporal.ts'
import { bundleWorkflows } from '../../worker/workflow-bundle.ts'
import { readHistory } from './history-files.ts'

const folder = new URL('../histories/', import.meta.url)
const names = readdirSync(folder).sort()
const historyOf = (name: string) => readHistory(readFileSync(new URL(name, folder), 'utf8'))

describe('runs that were begun under earlier code', () => {
  let code = ''
  beforeAll(async () => {
    installRuntime(pino({ level: 'silent' }))
    code = await bundleWorkflows()
  })
  const replay = (bundle: string, name: string) =>
    Worker.runReplayHistory({ workflowBundle: { code: bundle }, replayName: name }, historyOf(name))

  test('are there for each workflow', () => {
    expect(WORKFLOW_TYPES.filter((type) => !names.some((name) => name.startsWith(type)))).toEqual([])
  })

  test.each(names)('%s goes on under the code of today', async (name) => {
    await expect(replay(code, name)).resolves.toBeUndefined()
  })

  test.each([
    ['another activity', '.openNextTicket(', '.openTicketOf('],
    ['a step left out', "first.kind === 'activate'", "first.kind === 'provision'"],
  ])('a change that would break them is caught: %s', async (_, now, broken) => {
    const changed = code.replaceAll(now, broken)
    expect(changed).not.toBe(code)
    await expect(replay(changed, 'provision-and-activate-activated.json')).rejects.toThrow(DeterminismViolationError)
  })

  test('the same change behind `patched` leaves them as they are', async () => {
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
    await expect(replay(changed, 'provision-and-activate-activated.json')).resolves.toBeUndefined()
  })
})
