import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeOwnFolder, makeWayToDatabase } from '../../stack/make-own-folder.ts'
import { temporaryFolder } from '../setup/folder.ts'

// Under root the embedded database runs as another user, who has to pass through.
const passable = process.getuid?.() === 0 ? '711' : '700'
test.each([
  ['makeOwnFolder', makeOwnFolder, '700'],
  ['makeWayToDatabase', makeWayToDatabase, passable],
])('%s closes new and existing folders to others', async (_, make, expected) => {
  const folder = join(await temporaryFolder(), 'data', 'more')
  const modeOf = async () => ((await stat(folder)).mode & 0o777).toString(8)

  await make(folder)
  const made = await modeOf()
  await chmod(folder, 0o755)
  await make(folder)

  expect([made, await modeOf()]).toEqual([expected, expected])
})
