import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeOwnFolder } from '../../../cli/files.ts'

test('the data folder is its owner’s alone, also one that was open to all', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'simherd-folder-'))
  onTestFinished(() => rm(parent, { recursive: true }))
  const folder = join(parent, 'data', 'more')
  const modeOf = async () => ((await stat(folder)).mode & 0o777).toString(8)

  await makeOwnFolder(folder)
  const made = await modeOf()
  await chmod(folder, 0o755)
  await makeOwnFolder(folder)

  // The embedded database of root runs as another user, who has to come through.
  const expected = process.getuid?.() === 0 ? '711' : '700'
  expect([made, await modeOf()]).toEqual([expected, expected])
})
