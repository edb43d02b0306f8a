import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { beforeAll, describe, expect, test } from 'vitest'
import { WORKFLOW_TYPES } from '../../domain/lifecycle.ts'
import * as workflows from '../../workflows/index.ts'

describe('the workflow bundle', () => {
  let modules: string[] = []
  beforeAll(async () => {
    const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url))
    const { sourceMap } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }).then(
      ({ code }) => ({ sourceMap: code.slice(code.lastIndexOf('base64,') + 7) }),
    )
    const { sources }: { sources: string[] } = JSON.parse(Buffer.from(sourceMap, 'base64').toString())
    modules = sources.filter((source) => source.endsWith('.ts') && !source.includes('node_modules'))
  })

  test('has a function for each workflow type, and no other', () => {
    expect(Object.keys(workflows).sort()).toEqual([...WORKFLOW_TYPES].sort())
  })

  test('holds of our own code only workflows/ and the parts of domain/ that import nothing', () => {
    const outside = modules.filter((source) => !source.includes('workflows/'))
    expect(modules.length).toBeGreaterThan(10)
    expect(outside.map((source) => source.replace(/^.*\/?domain\//, 'domain/')).sort()).toEqual([
      'domain/cycle.ts',
      'domain/duration.ts',
      'domain/lifecycle.ts',
    ])
  })
})
