/** The log files of `npm start`. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { childLog } from '../../../cli/start/child-log.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { soon } from '../../setup/soon.ts'

async function aFolder() {
  const dataDir = await temporaryFolder()
  return { dataDir, logs: join(dataDir, 'logs') }
}
const silent = { warn: () => undefined }
const linesIn = async (file: string) => (await readFile(file, 'utf8')).split('\n').filter(Boolean)

test('childLog renames a file that has grown, while it runs', async () => {
  const { dataDir, logs } = await aFolder()
  const log = childLog(dataDir, silent, false, { size: '10K', rotate: 2 })

  for (let n = 0; n < 100; n++) log(`api | ${n} ${'x'.repeat(1000)}`)
  await soon(async () => expect((await linesIn(join(logs, 'api.log'))).at(-1)).toMatch(/^99 /))

  expect((await readdir(logs)).sort()).toEqual(['api.log', 'api.log.1', 'api.log.2'])
  const sizes = await Promise.all((await readdir(logs)).map(async (name) => (await stat(join(logs, name))).size))
  expect(Math.max(...sizes)).toBeLessThan(12_000)
  // No line is lost between two files.
  const kept = await Promise.all(['api.log.2', 'api.log.1', 'api.log'].map((name) => linesIn(join(logs, name))))
  const numbers = kept.flat().map((line) => Number(line.split(' ')[0]))
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, n) => 100 - numbers.length + n))
})

test('childLog goes on with the file of the last start, or renames it', async () => {
  const { dataDir, logs } = await aFolder()
  await mkdir(logs)
  await writeFile(join(logs, 'api.log'), `before ${'x'.repeat(20_000)}\n`)
  await writeFile(join(logs, 'worker.log'), 'before\n')
  const log = childLog(dataDir, silent, false, { size: '10K', rotate: 2 })

  log('api | after')
  log('worker | after')

  await soon(async () => expect(await linesIn(join(logs, 'api.log'))).toEqual(['after']))
  await soon(async () => expect(await linesIn(join(logs, 'worker.log'))).toEqual(['before', 'after']))
  expect((await readFile(join(logs, 'api.log.1'), 'utf8')).startsWith('before')).toBe(true)
})

test('childLog bounds a line, and keeps keys out of it', async () => {
  const { dataDir, logs } = await aFolder()
  const shown: string[] = []
  const log = childLog(dataDir, { warn: (line) => void shown.push(line) }, false)
  const key = `sim_0123456789ab_${'s'.repeat(43)}`

  log(`worker | Error: ${key} ${'x'.repeat(1_000_000)}`)
  await soon(async () => expect(await linesIn(join(logs, 'worker.log'))).toHaveLength(1))

  for (const line of [...(await linesIn(join(logs, 'worker.log'))), ...shown]) {
    expect(line.length).toBeLessThan(11_000)
    expect(line).toContain('sim_0123456789ab_… xxx')
  }
  expect(shown).toHaveLength(1)
})
