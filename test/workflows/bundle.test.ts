import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { WORKFLOW_TYPES } from '../../domain/temporal/ids.ts'
import { bundledSources, bundleHeader, bundleWorkflows, readBundle } from '../../worker/bundle-workflows.ts'
import * as workflows from '../../workflows/index.ts'
import { temporaryFolder } from '../setup/folder.ts'

describe('bundleWorkflows', () => {
  let modules: string[] = []
  beforeAll(async () => {
    const code = await bundleWorkflows()
    const sourceMap = code.slice(code.lastIndexOf('base64,') + 7)
    const { sources }: { sources: string[] } = JSON.parse(Buffer.from(sourceMap, 'base64').toString())
    modules = sources.filter((source) => source.endsWith('.ts') && !source.includes('node_modules'))
  })

  test('exports one function for each workflow type', () => {
    expect(Object.keys(workflows).sort()).toEqual([...WORKFLOW_TYPES].sort())
  })

  test('bundles no own code that its hash misses', async () => {
    const own = modules.map((source) => source.slice(source.search(/(workflows|domain)\//)))
    const covered = await bundledSources()
    expect(own.length).toBeGreaterThan(10)
    expect(own.filter((source) => !covered.includes(source))).toEqual([])
  })
})

describe('readBundle', () => {
  test('reads a bundle made from these sources', async () => {
    const file = join(await temporaryFolder(), 'now.js')
    const code = `${await bundleHeader()}'the workflows'`
    await writeFile(file, code)

    expect(await readBundle(file)).toBe(code)
  })

  test('refuses a missing bundle or one of other sources', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'before.js')
    await writeFile(file, "/* simherd workflows 0000 */\n'the workflows'")
    const upgraded = join(folder, 'upgraded.js')
    await writeFile(upgraded, `${await bundleHeader('1.0.0')}'the workflows'`)

    await expect(readBundle(file)).rejects.toThrow(/was made of other workflows.*npm run build/)
    await expect(readBundle(upgraded)).rejects.toThrow(/or with another SDK/)
    await expect(readBundle(join(folder, 'none.js'))).rejects.toThrow(/there is no bundle at .*npm run build/)
  })
})
