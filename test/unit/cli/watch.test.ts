/** `simherd rules watch`, as a process beside an editor. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { childEnv } from '../../../process/child-env.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { soon } from '../../setup/soon.ts'
import { aFile, leaf } from '../rules/samples.ts'

const PROGRAM = fileURLToPath(new URL('../../../cli/simherd.js', import.meta.url))
const good = aFile().text
const wrong = aFile({ conditions: { all: [leaf('overagMB', 'lessThan', 1)] } }).text

/** Runs the command. `says` expects the lines that it has printed since the last call. */
function aWatch(folder: string) {
  const child = spawn(process.execPath, [PROGRAM, 'rules', 'watch', folder], { env: childEnv({}) })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)))
  return {
    says: async (expected: readonly unknown[]) => {
      await soon(() => expect(printed.split('\n').slice(0, -1)).toEqual(expected))
      printed = ''
    },
    end: async () => {
      child.kill('SIGINT')
      const [code] = await once(child, 'exit')
      return { code, printed }
    },
  }
}

test('simherd rules watch prints what each save has changed, until Ctrl-C', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'pool'))
  /** Saves as editors do: a file is never seen half written. */
  const save = async (file: string, text: string) => {
    const whole = `${folder}.saved`
    await writeFile(whole, text)
    await rename(whole, join(folder, file))
  }
  await save('pool/some-rule.json', good)
  const watch = aWatch(folder)
  await watch.says(['1 file: no faults'])

  await save('pool/some-rule.json', wrong)
  await watch.says([expect.stringMatching(/^pool\/some-rule\.json:1:\d+: .*got "overagMB"/), 'faults: see above'])
  await mkdir(join(folder, 'sim'))
  await save('sim/other.json', '{')
  await watch.says([expect.stringContaining('sim/other.json:1:2')])
  await save('pool/some-rule.json', good)
  await watch.says([expect.stringMatching(/^no longer: pool\/some-rule\.json: /)])
  await rm(join(folder, 'sim'), { recursive: true })
  await watch.says([expect.stringContaining('no longer: sim/other.json'), '1 file: no faults'])

  expect(await watch.end()).toEqual({ code: 0, printed: '' })
})
