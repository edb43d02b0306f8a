import { appendFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { boundServerLog } from '../../stack/bound-server-log.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { soon } from '../setup/soon.ts'

test('boundServerLog empties a log that has grown, while the server appends to it', async () => {
  const file = join(await temporaryFolder(), 'server.log')
  await writeFile(file, 'x'.repeat(2000))
  onTestFinished(await boundServerLog(file, { mostBytes: 1000, everyMs: 20 }))
  expect((await stat(file)).size).toBe(0)

  await appendFile(file, 'x'.repeat(900))
  await appendFile(file, 'x'.repeat(900))
  await soon(async () => expect((await stat(file)).size).toBe(0))
  await appendFile(file, 'after')

  expect((await stat(file)).size).toBe(5)
})
