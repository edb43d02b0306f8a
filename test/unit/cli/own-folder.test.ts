import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeOwnFolder } from '../../../cli/files.ts'

test('makeOwnFolder closes new and existing folders to others', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'simherd-folder-'))
  onTestFinished(() => rm(parent, { recursive: true }))
  const folder = join(parent, 'data', 'more')
  const modeOf = async () => ((await stat(folder)).mode & 0o777).toString(8)

  await makeOwnFolder(folder)
  const made = await modeOf()
  await chmod(folder, 0o755)
  await makeOwnFolder(folder)

  // Under root the embedded database runs as another user, who has to pass through the folder.
  const expected = process.getuid?.() === 0 ? '711' : '700'
  expect([made, await modeOf()]).toEqual([expected, expected])
})
