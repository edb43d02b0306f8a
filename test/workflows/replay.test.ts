import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { WORKFLOW_TYPES } from '../../domain/lifecycle.ts'
import { installRuntime } from '../../worker/temporal.ts'
import { readHistory } from './history-files.ts'

const folder = new URL('../histories/', import.meta.url)
const names = readdirSync(folder).sort()
const historyOf = (name: string) => readHistory(readFileSync(new URL(name, folder), 'utf8'))

describe('runs that were begun under earlier code', () => {
  let code = ''
  beforeAll(async () => {
    installRuntime(pino({ level: 'silent' }))
    const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url))
    code = (await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })).code
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
    ['another activity', '.readSim(', '.lookAtSim('],
    ['a step left out', "status === 'Unprovisioned'", "status === 'Elsewhere'"],
  ])('a change that would break them is caught: %s', async (_, now, broken) => {
    const changed = code.replaceAll(now, broken)
    expect(changed).not.toBe(code)
    await expect(replay(changed, 'provision-and-activate-activated.json')).rejects.toThrow(DeterminismViolationError)
  })
})
